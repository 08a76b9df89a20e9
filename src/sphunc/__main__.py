"""`python -m sphunc`: the command line where the script of that name is not on the path."""

from sphunc.cli import main

if __name__ == "__main__":
    main()
