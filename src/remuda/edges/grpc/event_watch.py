"""Events over gRPC: a stream of batches, in the order of their numbers (EXT-25).

The call of a client that does not read is ended, as in the stream endpoint of REST (EVT-119). It
never delays others, because the source buffers a limited number of events for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from remuda.base.errors import ProtocolError
from remuda.edges.grpc.access import Caller
from remuda.edges.grpc.measurements import NumberedEvent
from remuda.si import limits
from remuda.si.codec_out import event_message
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si

# Records of one batch, and the bytes from which it is sent as it is.
_RECORDS: Final = 1_000
_BYTES: Final = 512 * 1024


class Watched:
    """Which events a watch wants and its caller may see.

    Raises: ProtocolError for a request that is out of bounds.
    """

    def __init__(self, request: ext.WatchEventsRequest, caller: Caller) -> None:
        known = si.EventRecord.Type.values()
        kinds = {int(kind) for kind in request.types}
        unknown = sorted(kinds - {int(kind) for kind in known})
        if unknown:
            raise ProtocolError(f"types: {unknown[0]} is no type of event record")
        if len(request.object_id) > limits.ID_LENGTH_LIMIT:
            raise ProtocolError(
                f"object_id has more than {limits.ID_LENGTH_LIMIT} characters, which none has"
            )
        self._kinds = kinds
        self._object_id = request.object_id
        self._caller = caller

    def _lets(self, event: NumberedEvent) -> bool:
        record = event[1]
        if self._kinds and record.kind not in self._kinds:
            return False
        if self._object_id and record.object_id != self._object_id:
            return False
        return self._caller.sees(record.rm_id)

    def batches(self, events: Sequence[NumberedEvent]) -> Iterator[ext.EventBatch]:
        """Pack those that are wanted into messages that any client takes.

        ``first_id`` is the number of the first record; filtered ones leave holes behind it.
        """
        batch = ext.EventBatch()
        size = 0
        for number, record in filter(self._lets, events):
            if len(batch.records) == _RECORDS or size > _BYTES:
                yield batch
                batch, size = ext.EventBatch(), 0
            if not batch.records:
                batch.first_id = number
            message = event_message(record)
            batch.records.append(message)
            size += message.ByteSize()
        if batch.records:
            yield batch
