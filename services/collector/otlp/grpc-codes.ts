/** The codes of gRPC that answers carry, also those over HTTP (google.rpc.Code). */
export const GRPC_CODES = {
  ok: 0,
  invalidArgument: 3,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const

const BY_STATUS: Readonly<Record<number, number>> = {
  400: GRPC_CODES.invalidArgument,
  401: GRPC_CODES.unauthenticated,
  403: GRPC_CODES.permissionDenied,
  413: GRPC_CODES.resourceExhausted,
  415: GRPC_CODES.invalidArgument,
  503: GRPC_CODES.unavailable,
}

/** The code of an error with this HTTP status. */
export const grpcCodeOf = (status: number): number => BY_STATUS[status] ?? GRPC_CODES.internal
