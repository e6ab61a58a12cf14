import { expect, it } from 'vitest'
import { files, linesOf } from './sources.ts'

/** Modules of WebAssembly, in another language. */
const ASSEMBLY = /^services\/collector\/(?:otlp|store\/search)\/assembly\//
const EXPORTED = /^export (?:abstract |async )?(?:class|const|function\*?|interface|type) (\w+)/

it('what a service exports, another file names', () => {
  const words = new Map(files.map((file) => [file, new Set(linesOf(file).join(' ').split(/\W+/))]))
  const inFiles = new Map<string, number>()
  for (const names of words.values()) {
    for (const name of names) inFiles.set(name, (inFiles.get(name) ?? 0) + 1)
  }
  const alone = files
    .filter((file) => file.startsWith('services/') && !ASSEMBLY.test(file))
    .flatMap((file) =>
      linesOf(file)
        .map((line) => EXPORTED.exec(line)?.[1] ?? '')
        .filter((name) => inFiles.get(name) === 1)
        .map((name) => `${file} exports ${name}`),
    )
  expect(alone, 'Use it in another file, or take `export` from it.').toEqual([])
})
