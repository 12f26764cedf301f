"""The readers that are fuzzed, by name."""

from __future__ import annotations

from typing import Final

from tools.fuzz.files import IDENTITIES, RECORDING, TOKEN
from tools.fuzz.rest import REST
from tools.fuzz.session import SESSION
from tools.fuzz.target import Target
from tools.fuzz.texts import ACCESS, AMOUNTS, CONFIGURATION
from tools.fuzz.wire import WIRE

TARGETS: Final[dict[str, Target]] = {
    "wire": WIRE,
    "session": SESSION,
    "configuration": CONFIGURATION,
    "amounts": AMOUNTS,
    "access": ACCESS,
    "rest": REST,
    "recording": RECORDING,
    "identities": IDENTITIES,
    "token": TOKEN,
}
