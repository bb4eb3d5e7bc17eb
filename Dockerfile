# The images, for who builds with Docker: `docker build -t gpu-scheduler .`, and `docker build --target gkm -t gkm .` for
# kernel caches. What they are has no distribution in it: programs, their libraries, CA certificates (tools/image makes the
# same without Docker).
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates make
WORKDIR /src
COPY . .
RUN tools/install-packages && tools/build release programs && tools/image --root /image && tools/image --gkm --root /gkm

FROM scratch AS gkm
COPY --from=build /gkm /
ENV PATH=/usr/bin SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
USER 65532:65532
CMD ["gkm-operator"]

FROM scratch
COPY --from=build /image /
ENV PATH=/usr/bin SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
USER 65532:65532
CMD ["gpu-scheduler"]
