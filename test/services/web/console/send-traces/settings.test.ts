import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { environmentCommands } from '../../../../../services/web/console/send-traces/environment.ts'
import { createSettings } from '../../../../../services/web/console/send-traces/settings.ts'

const settings = createSettings()
const textOf = (key: string): string => settings.find(key).files[0]?.text ?? ''

it('shows the first program for a word that names none', () => {
  expect(settings.find('langchain').name).toBe('LangChain')
  for (const word of ['', 'constructor', '../go']) {
    expect(settings.find(word).key).toBe('python-openinference')
  }
})

it('keeps tokens out of programs: what they need comes from the variables', () => {
  for (const { name, files } of settings.all) {
    for (const { text } of files) expect(text, name).not.toMatch(/Bearer (?!\$\{env:)|eyJ/)
  }
})

it('gives the OpenTelemetry Collector a file that sends what it takes', () => {
  expect(parse(textOf('collector'))).toMatchObject({
    exporters: { otlphttp: { endpoint: '${env:OTEL_EXPORTER_OTLP_ENDPOINT}' } },
    service: { pipelines: { traces: { receivers: ['otlp'], exporters: ['otlphttp'] } } },
  })
})

it('closes in the program for .NET what it opens; no compiler is asked', () => {
  const code = textOf('dotnet').replaceAll(/"""[^]*?"""|"[^"]*"|\/\/.*/g, '""')
  const closers: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }
  const open: string[] = []
  for (const [bracket] of code.matchAll(/[()[\]{}]/g)) {
    if (bracket in closers) open.push(closers[bracket] ?? '')
    else expect(bracket).toBe(open.pop())
  }
  expect(open).toEqual([])
})

it('quotes an endpoint for the shell', () => {
  expect(environmentCommands("http://x/it's")).toContain(`ENDPOINT='http://x/it'\\''s'`)
})
