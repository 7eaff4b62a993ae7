"""Published numbers, come by again from recorded verdicts through our own types and functions."""
