"""An engine that tests may kill."""

from collections.abc import Iterator

import pytest

from tests.engines.oceanbase import OceanBase


@pytest.fixture(scope="session")
def engine(
    oceanbase_is_here: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OceanBase]:
    """Of our own, also where POWERCONTEXT_TEST_OCEANBASE_URL names a server."""
    with OceanBase(tmp_path_factory.mktemp("engine")) as engine:
        yield engine
