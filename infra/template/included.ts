import { createExistence } from './existence.ts'
import { Val } from './expression.ts'
import type { About, Context } from './expression.ts'
import { withoutLeaves } from './free.ts'
import type { Json, JsonObject } from './json.ts'
import { part } from './parts.ts'
import { PlainReading } from './plain-reading.ts'

interface Content<T> {
  readonly part: T
  /** What the part comes out as, as data. */
  readonly content: Val<JsonObject>
}

/**
 * A named part, and what it comes out as: templates parse what they include. The function makes
 * that of what the L1 classes take.
 */
export function contentOf<T extends object>(
  about: About,
  build: () => T,
  toManifest: (props: unknown) => unknown,
): Content<T> {
  const [definition, existence] = [build(), createExistence()]
  const evaluate = (context: Context): Json => {
    const reading = new PlainReading({ existence, constants: new WeakSet() }, context)
    return asJson(withoutLeaves(toManifest(reading.contentOf(definition))))
  }
  return {
    part: part(about, () => definition)(),
    content: new Val({ op: 'included', name: about.name, evaluate }, 'map'),
  }
}

// A manifest is plain data.
const asJson = (manifest: unknown): Json => manifest as Json
