"""What is true: the office, its people, its clock. Pure: no network, database, container or wall clock."""
