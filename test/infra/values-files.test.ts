import { describe, expect, it } from 'vitest'
import { readYaml } from '../../infra/template/load-values.ts'

const read = (source: string): Promise<unknown> => readYaml('values.yaml', source)

describe('a file of values is read as Helm reads it', () => {
  it.each([
    ['port: 03000', { port: 1536 }],
    ['port: 3_000', { port: 3000 }],
    ['port: 0b11', { port: 3 }],
    ['enabled: no', { enabled: false }],
    ['enabled: On', { enabled: true }],
    ['text: 1:30', { text: '1:30' }],
    ['text: 2024-01-01', { text: '2024-01-01' }],
    ['text: !!str 12', { text: '12' }],
    ['text: "yes"', { text: 'yes' }],
    ['8080: text', { '8080': 'text' }],
    ['"yes": text', { yes: 'text' }],
    ['nothing:', { nothing: null }],
    ['a: &a { b: 1, c: 2 }\nd:\n  <<: *a\n  c: 3', { a: { b: 1, c: 2 }, d: { b: 1, c: 3 } }],
    ['# only a comment', {}],
    ['{"a": [1, 2.5, "x"]}', { a: [1, 2.5, 'x'] }],
  ])('%j', async (source, values) => {
    expect(await read(source)).toEqual(values)
  })
})

describe('what Helm would read as something else without a word is refused, with the line', () => {
  it.each([
    ['a: 1\nyes: 2', 'values.yaml, line 2: the key yes means true in YAML; write it in quotes'],
    ['~: 1', 'values.yaml, line 1: the key ~ means null in YAML'],
    ['a: 1\n---\na: 2', 'values.yaml: a file of values is one YAML document'],
    ['a: 1\na: 2', 'values.yaml: Map keys must be unique at line 2'],
    ['a: .inf', 'values.yaml, line 1: .inf is no number that a value may have'],
    ['a: !!binary aGk=', 'values.yaml, line 1: the tag tag:yaml.org,2002:binary is not supported'],
    ['? [a]\n: b', 'values.yaml, line 1: a key must be a text'],
    ['a: [', 'values.yaml: '],
  ])('%j', async (source, message) => {
    await expect(read(source)).rejects.toThrow(message)
  })
})
