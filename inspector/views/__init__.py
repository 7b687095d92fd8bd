"""Pages. Each view asks one service and hands its answer to `presenting`."""
