/** What a chunk holds at the most, unless a single span is larger. */
export interface ChunkLimits {
  readonly spans: number
  /** Of the stored form of the spans. */
  readonly bytes: number
}

/** The spans in chunks that can be in memory at a time, in their order; at least one chunk. */
export function* chunksOf<Place extends { readonly bytes: number }>(
  places: readonly Place[],
  limits: ChunkLimits,
): Generator<Place[]> {
  let chunk: Place[] = []
  let bytes = 0
  for (const place of places) {
    const isFull = chunk.length === limits.spans || bytes + place.bytes > limits.bytes
    if (isFull && chunk.length > 0) {
      yield chunk
      chunk = []
      bytes = 0
    }
    chunk.push(place)
    bytes += place.bytes
  }
  yield chunk
}
