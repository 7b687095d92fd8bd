"""The state of atomic memories: forget, restore, retire (J-28)."""

import pytest

from prepare.models import Artifact
from tests.admin.pages import Browser
from tests.api import Api
from tests.factories import make_scope, profile, remember


def state() -> str:
    return Artifact.objects.get().state


def test_forget_and_restore(admin: Browser, api: Api) -> None:
    scope = make_scope("s")
    head = remember(scope, "Lunch is at noon.").artifact

    page = admin.open("artifact_change", head.pk).press("forget")
    assert page.messages == ["Forgotten: 1."]
    assert state() == "forgotten"
    assert api.prepare("s", "lunch").body["content"] is None
    again = admin.act("artifact", "forget", head)
    assert again.messages == ["Nothing to change: 1."]

    admin.open("artifact_change", head.pk).press("restore")
    assert state() == "active"
    assert "Lunch is at noon." in api.content("s", "lunch")


def test_retire_asks_first_and_is_final(admin: Browser) -> None:
    head = remember(make_scope("s"), "Lunch.").artifact

    page = admin.open("artifact_change", head.pk).press("retire")
    assert state() == "active"
    assert "never restored" in page.html
    page.submit()
    assert state() == "retired"

    page = admin.act("artifact", "restore", head)
    assert page.messages == [
        f"atomic-memory/{head.artifact_id}@1: A retired memory cannot become active."
    ]
    detail = admin.open("artifact_change", head.pk)
    assert "New revision" not in detail.html
    with pytest.raises(AssertionError):
        detail.press("restore")


def test_many_at_once(admin: Browser) -> None:
    scope = make_scope("s")
    heads = [remember(scope, f"Fact {number}.").artifact for number in range(3)]
    other = profile(scope, "# Profile").artifact

    page = admin.act("artifact", "forget", *heads, other)

    assert page.messages == [
        "Forgotten: 3.",
        "profile/profile@1: Only atomic memories have a state.",
    ]


def test_select_across_pages(admin: Browser) -> None:
    scope = make_scope("s")
    heads = [remember(scope, f"Fact {number}.").artifact for number in range(60)]

    page = admin.act("artifact", "retire", heads[0], select_across="1")
    assert "Selected: 60" in page.html
    page = page.submit()

    assert page.messages == ["Retired: 60."]
    assert not Artifact.objects.exclude(lifecycle="retired").exists()


@pytest.mark.parametrize("key", ["abc", "9" * 30, "-1", ""])
def test_odd_keys_change_nothing(admin: Browser, key: str) -> None:
    head = remember(make_scope("s"), "Lunch.").artifact

    page = admin.act("artifact", "forget", head, _selected_action=[key])

    assert page.status == 200
    assert state() == "active"
