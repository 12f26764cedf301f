"""The wire definition against the interface of the founding documents (chapter 70.13)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import Descriptor, EnumDescriptor

from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from tests.unit.si.interface import ADDED, FIELDS, VALUES

Numbers = dict[str, dict[str, int]]


def pairs(text: str) -> dict[str, int]:
    """``CREATE 1, UPDATE 2`` as a mapping."""
    words = (entry.split() for entry in text.split(",") if entry)
    return {name: int(number) for name, number in words}


def told(*tables: Mapping[str, str]) -> Numbers:
    """Tables of texts, one upon the other."""
    found: Numbers = {}
    for table in tables:
        for name, text in table.items():
            found.setdefault(name, {}).update(pairs(text))
    return found


def messages(found: Iterable[Descriptor]) -> Iterator[Descriptor]:
    """The messages and those inside them, without the entries of maps."""
    for message in found:
        if not message.GetOptions().map_entry:
            yield message
            yield from messages(message.nested_types)


MESSAGES = list(messages(si.DESCRIPTOR.message_types_by_name.values()))
ENUMS: list[EnumDescriptor] = [
    *si.DESCRIPTOR.enum_types_by_name.values(),
    *(enum for message in MESSAGES for enum in message.enum_types),
]


def name_of(descriptor: Descriptor | EnumDescriptor) -> str:
    """The name without the package."""
    return descriptor.full_name.removeprefix("si.v1.")


def defined() -> Numbers:
    """Every number that the wire definition gives."""
    fields = {name_of(one): {f.name: f.number for f in one.fields} for one in MESSAGES}
    values = {name_of(one): {v.name: v.number for v in one.values} for one in ENUMS}
    return fields | values


@pytest.mark.remuda_rule("SEED-68", "SEED-69", "SEED-81", "SEED-149", "EVT-4", "SI-110")
def test_every_number_is_that_of_the_founding_documents_plus_the_named_additions() -> None:
    assert defined() == told(FIELDS, VALUES, ADDED)
    assert sum(map(len, told(ADDED).values())) == 14


def test_the_additions_change_no_number() -> None:
    before = told(FIELDS, VALUES)
    for name, added in told(ADDED).items():
        assert added.keys().isdisjoint(before[name])
        assert set(added.values()).isdisjoint(before[name].values())


@pytest.mark.remuda_rule("EVT-1")
def test_the_numbers_of_fields_that_went_stay_reserved() -> None:
    assert reserved(si.Allocation.DESCRIPTOR) == {"7", "queueName"}
    assert reserved(si.UpdateConfigurationRequest.DESCRIPTOR) == {"1", "configs"}
    assert reserved(si.EventRecord.DESCRIPTOR) == {"3", "4", "groupID", "reason"}


def reserved(descriptor: Descriptor) -> set[str]:
    """Numbers and names that no field may have."""
    written = descriptor_pb2.DescriptorProto()
    descriptor.CopyToProto(written)
    numbers = (n for span in written.reserved_range for n in range(span.start, span.end))
    return {*map(str, numbers), *written.reserved_name}


@pytest.mark.remuda_rule("SEED-8")
def test_package_syntax_and_the_option_for_secrets() -> None:
    written = descriptor_pb2.FileDescriptorProto()
    si.DESCRIPTOR.CopyToProto(written)
    assert (written.syntax, written.package) == ("proto3", "si.v1")
    option = si.DESCRIPTOR.extensions_by_name["si_secret"]
    assert option.number == 1059
    assert option.containing_type is descriptor_pb2.FieldOptions.DESCRIPTOR
    assert option.type == option.TYPE_BOOL


@pytest.mark.remuda_rule("SEED-13")
def test_registration_is_one_call_and_the_three_updates_are_duplex_streams() -> None:
    service = si.DESCRIPTOR.services_by_name["Scheduler"]
    assert {m.name: (m.client_streaming, m.server_streaming) for m in service.methods} == {
        "RegisterResourceManager": (False, False),
        "UpdateAllocation": (True, True),
        "UpdateApplication": (True, True),
        "UpdateNode": (True, True),
    }


def test_the_services_that_were_only_announced_are_in_a_package_of_their_own() -> None:
    assert list(si.DESCRIPTOR.services_by_name) == ["Scheduler"]
    assert ext.DESCRIPTOR.package == "remuda.v1"
    assert {"Admin", "Metrics"} < set(ext.DESCRIPTOR.services_by_name)
