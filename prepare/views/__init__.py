"""HTTP views, one thin class per path: check, call one service, shape the answer."""
