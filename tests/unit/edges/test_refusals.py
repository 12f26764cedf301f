"""The statuses of requests that are refused."""

from __future__ import annotations

import grpc
import pytest

from remuda.edges.grpc.refusals import RefusalError, refusing


@pytest.mark.remuda_rule("SI-105")
def test_a_request_for_which_there_is_no_memory_is_refused() -> None:
    with pytest.raises(RefusalError) as refused, refusing():
        raise MemoryError
    assert refused.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "no memory" in refused.value.detail
