"""The image's health check: asks the server for /healthz; exit status 0 if it can serve pages."""

import os
import sys
import urllib.error
import urllib.request

ADDRESS = "http://127.0.0.1:8000/healthz"


def main() -> int:
    host = os.environ.get("ALLOWED_HOSTS", "localhost").split(",")[0].strip().lstrip(".")
    request = urllib.request.Request(ADDRESS, headers={"Host": host})  # any other host name is refused
    try:
        with urllib.request.urlopen(request, timeout=8) as response:
            print(response.read().decode())
    except urllib.error.HTTPError as error:
        print(error.read().decode(errors="replace"))
        return 1
    except OSError as error:
        print(f"No answer: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
