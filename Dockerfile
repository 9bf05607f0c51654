# The image of the hook service: `docker build -t hangar .`; then `docker run -e HANGAR_AUTH=none hangar`.
FROM python:3.13-slim AS build
WORKDIR /src
# pip stays in this stage: it installs into an environment that has none of its own.
RUN python -m venv --without-pip /opt/hangar
COPY requirements.lock ./
RUN pip --python /opt/hangar/bin/python install --no-cache-dir --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY app app
RUN pip --python /opt/hangar/bin/python install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.13-slim
COPY --from=build /opt/hangar /opt/hangar
ENV PATH=/opt/hangar/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A fixed number, so that `runAsNonRoot` can be checked. Nothing is written below the root file system.
USER 65532:65532
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["python", "-c", "\
import http.client, os, sys; \
caller = http.client.HTTPConnection('127.0.0.1', int(os.environ.get('HANGAR_OPERATIONS_PORT', 8081)), timeout=2); \
caller.request('GET', '/healthz'); \
sys.exit(caller.getresponse().status != 200)"]
ENTRYPOINT ["hangar"]
CMD ["serve"]
