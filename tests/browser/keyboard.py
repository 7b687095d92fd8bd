"""A person without a mouse: where Tab leads, and whether one sees it."""

from playwright.sync_api import Page

# How an element looks, as far as focus may change it; in drawings by their shapes.
_LOOK = """
() => {
  window.lookOf = (element) =>
    [element, ...element.querySelectorAll("rect, circle, path")]
      .map((part) => getComputedStyle(part))
      .map((style) => [
        style.outlineStyle === "none" ? "" : style.outlineWidth,
        style.boxShadow, style.stroke, style.strokeWidth,
      ].join()).join();
}
"""
# Everything a person can use, in the order of the document, each with a mark by which
# `_STEP` names it again. Of radio buttons with one name Tab reaches one.
_CONTROLS = """
() => {
  const isReached = (element) => {
    if (element.type !== "radio") return true;
    const group = [...document.getElementsByName(element.name)];
    return element === (group.find((each) => each.checked) ?? group[0]);
  };
  return [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter((element) => !element.disabled && element.type !== "hidden")
    .filter((element) => element.checkVisibility({ visibilityProperty: true }))
    .filter(isReached)
    .map((element, index) => {
      element.dataset.control = `${index} ${element.outerHTML.slice(0, 120)}`;
      element.lookBefore = lookOf(element);
      return element.dataset.control;
    });
}
"""
# A field with `autofocus` has the focus already; begin above it.
_TO_THE_TOP = """
() => { document.body.tabIndex = -1; document.body.focus();
  document.body.removeAttribute("tabindex"); }
"""
# The focused element, or null when Tab has left the document, and why one does not see
# that it is focused.
_STEP = """
() => {
  const focused = document.activeElement;
  if (!focused || focused === document.body) return null;
  const isOther = lookOf(focused) !== focused.lookBefore;
  const box = focused.getBoundingClientRect();
  const isInside = box.right > 0 && box.left < innerWidth && box.bottom > 0
    && box.top < innerHeight && box.width > 0 && box.height > 0;
  return [focused.dataset.control ?? "", focused.outerHTML.slice(0, 120),
    isOther ? isInside ? "" : "outside the window" : "looks the same"];
}
"""


def problems(page: Page) -> list[str]:
    """Press Tab from the top to the end: each control once, in the document's order,
    and always visible. Chromium adds the boxes that scroll, which is well."""
    page.evaluate(_TO_THE_TOP)
    page.evaluate(_LOOK)
    controls: list[str] = page.evaluate(_CONTROLS)
    found: list[str] = []
    reached: list[str] = []
    for _ in range(2 * len(controls) + 20):
        page.keyboard.press("Tab")
        step = page.evaluate(_STEP)
        if step is None:
            break
        control, html, fault = step
        if control and reached[-1:] == [control]:
            continue  # the parts of a date are several stops
        if fault:
            found.append(f"focus not visible, {fault}: {html}")
        if control:
            reached.append(control)
    if reached != controls:
        missed = [control for control in controls if control not in reached]
        found.append(f"Tab skips {missed}" if missed else f"Tab goes {reached}")
    return found


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until this element has the focus."""
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("css => document.activeElement.matches(css)", selector):
            return
    raise AssertionError(f"Tab never reaches {selector}")
