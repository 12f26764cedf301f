"""Reading a configuration text: YAML to nodes, then fields, checks and records."""

from __future__ import annotations

from remuda.base.errors import ERROR, ConfigError, Problem
from remuda.base.message import message
from remuda.config.bind import bind_document
from remuda.config.checksum import checksum
from remuda.config.compose import compose
from remuda.config.findings import PROBLEMS_LIMIT, Findings
from remuda.config.schema import Configuration, built_in
from remuda.config.validate import check_partitions


@message
class Verdict:
    """The verdict on a text; ``configuration`` None: it has errors.

    ``problems``: errors first, in the order of section 6.8, then warnings by place.
    """

    configuration: Configuration | None
    problems: tuple[Problem, ...]


def check_configuration(text: str, source: str = "<config>") -> Verdict:
    """Return the verdict on a configuration text, with everything that is wrong or odd with it.

    The empty text means the built-in configuration; a text without a document has no partitions.
    ``source`` names the text in problems, for example the file.

    Implements: CFG-2, CFG-5. Rules: chapter 10 sections 2 and 6, CHK-1.
    """
    if not text:
        return Verdict(built_in(), ())
    findings = Findings(source)
    configuration = None
    try:
        document = compose(text, source)
        partitions = check_partitions(bind_document(document, findings), findings)
        findings.raise_if_any()
        configuration = Configuration(partitions, checksum(text), text)
        errors: tuple[Problem, ...] = ()
    except ConfigError as error:
        errors = error.problems
    warnings = sorted(findings.warnings, key=lambda found: (found.line, found.column))
    return Verdict(configuration, (*errors, *warnings[: max(0, PROBLEMS_LIMIT - len(errors))]))


def load_configuration(text: str, source: str = "<config>") -> Configuration:
    """Return the configuration that a YAML text describes, as ``check_configuration`` does.

    Raises: ConfigError with every error found, in the order of section 6.8.
    Rules: CFG-5, CFG-2.
    """
    verdict = check_configuration(text, source)
    if verdict.configuration is None:
        errors = [problem for problem in verdict.problems if problem.severity == ERROR]
        raise ConfigError(errors, source)
    return verdict.configuration
