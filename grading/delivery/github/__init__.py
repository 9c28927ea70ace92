"""GitHub: pull requests in, review comments, checks and labels out. Workflows only wire these modules."""
