"""What pages call the names that are stored: states, parts of contents, families."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

STATES: dict[str, str | Promise] = {
    "active": gettext_lazy("active"),
    "forgotten": gettext_lazy("forgotten"),
    "merged": gettext_lazy("merged"),
    "retired": gettext_lazy("retired"),
    "pending": gettext_lazy("awaiting review"),
    "approved": gettext_lazy("approved"),
    "rejected": gettext_lazy("rejected"),
    "inactive": gettext_lazy("inactive"),
    "intact": gettext_lazy("intact"),
    "altered": gettext_lazy("altered"),
}
# The class of a badge; words say the same without colour.
MOODS = {
    "active": "good",
    "approved": "good",
    "intact": "good",
    "forgotten": "warn",
    "merged": "warn",
    "pending": "warn",
    "retired": "bad",
    "rejected": "bad",
    "altered": "bad",
}
PARTS: dict[str, str | Promise] = {
    "title": gettext_lazy("Title"),
    "kind": gettext_lazy("Kind"),
    "mode": gettext_lazy("Mode"),
    "summary": gettext_lazy("Summary"),
    "situation": gettext_lazy("Situation"),
    "action": gettext_lazy("Action"),
    "outcome": gettext_lazy("Outcome"),
    "lesson": gettext_lazy("Lesson"),
    "failure.signature.recall_cue": gettext_lazy("Failure cue"),
    "failure.signature.symptom": gettext_lazy("Symptom"),
    "failure.repair_surface": gettext_lazy("Repair surface"),
    "failure.verification.condition": gettext_lazy("Verification condition"),
    "failure.verification.check_subject": gettext_lazy("Verification check"),
    "text": gettext_lazy("Text"),
    "instructions": gettext_lazy("Instructions"),
    "demonstrations.input": gettext_lazy("Demonstration, input"),
    "demonstrations.expected_output": gettext_lazy("Demonstration, expected output"),
    "detail": gettext_lazy("Detail"),
    "content": gettext_lazy("Content"),
    "generation": gettext_lazy("Generation"),
    "creation": gettext_lazy("Creation"),
}
