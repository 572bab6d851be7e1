"""A service under attack: its parts are killed and stopped, its disk fills, its clock moves."""
