"""Makes ``python -m remuda`` the same as ``remuda``."""

from remuda.cli.main import main

if __name__ == "__main__":
    main()
