import { isObject } from '../../../shared/is-object.ts'
import { addressProblem } from '../../../shared/outgoing/address.ts'
import { isOff, isPython, readList } from './fields.ts'
import type { Field, Fields } from './fields.ts'
import { PYTHON } from './report.ts'
import type { Report } from './report.ts'

/** MCP servers as tools of a definition, by name. */
export type ImportedTools = Map<string, { type: 'mcp'; url: string; tools: string[] }>

/** What to use instead of a tool of CrewAI, by its name. */
const INSTEAD: readonly (readonly [RegExp, string])[] = [
  [
    /^custom:|^self\.|\(/,
    'Serve it as an MCP server and name that as a tool of the type mcp, or give the project a ' +
      'crew of its own (docs/crew-contract.md).',
  ],
  [
    /^platform:/,
    'Call the service by its OpenAPI document (type http) or its MCP server (type mcp), with a ' +
      'connection for its token.',
  ],
  [
    /Scrape|Website|Firecrawl|Spider|Selenium|Browser|Crawl|Hyperbrowser|Jina/i,
    'Use a tool of the type fetch, with the hosts that may be read in allow.',
  ],
  [
    /Search|Serper|Serp|Brave|Tavily|Exa|Google|Github|Arxiv|Youtube/i,
    'Use the MCP server of that service (type mcp), or its OpenAPI document (type http).',
  ],
  [/JSON/, 'Use a tool of the type json_query, and give the document as an input.'],
  [
    /File|Directory|PDF|DOCX|CSV|TXT|MDX|XML|OCR|Rag/i,
    'Give the text as an input of the run, or as knowledge of the agent.',
  ],
  [
    /SQL|Snowflake|Database|Mongo|Qdrant|Weaviate|PG|NL2/i,
    'Serve the queries by an MCP server (type mcp) or an OpenAPI document (type http).',
  ],
]
const OTHERWISE = 'Use a tool of the type mcp, http or fetch that does the same.'

/** Reports the tools of an agent or a task: they are Python classes. */
export function reportTools(field: Field | undefined, report: Report): void {
  for (const each of readList(field, report) ?? []) {
    const name = nameOfTool(each.value)
    const [, instead] = INSTEAD.find(([pattern]) => pattern.test(name)) ?? ['', OTHERWISE]
    report.leaveOut(each, `The tool ${name} is Python code. ${instead} See docs/tools.md.`)
  }
}

function nameOfTool(value: unknown): string {
  if (typeof value === 'string') return value.replace(/^crewai_tools:/, '').slice(0, 100)
  const python = isPython(value) ? String(value.python) : ''
  const library = /^(?:crewai_tools\.)?([A-Z]\w*)\(/.exec(python)?.[1]
  return (library ?? python.slice(0, 100)) || 'of this entry'
}

/**
 * Reads the MCP servers of an agent into `tools`, and returns the names that the agent has for
 * them. A server needs the names of the tools that may be used.
 */
export function readMcpServers(fields: Fields, tools: ImportedTools, report: Report): string[] {
  const names = (readList(fields.get('mcps'), report) ?? []).flatMap((field) => {
    const server = readServer(field, report)
    return server ? [addServer(server, tools)] : []
  })
  return [...new Set(names)]
}

interface Server {
  readonly url: string
  readonly tools: readonly string[]
}

function addServer({ url, tools: allowed }: Server, tools: ImportedTools): string {
  for (const [name, tool] of tools) {
    if (tool.url !== url) continue
    tool.tools = [...new Set([...tool.tools, ...allowed])]
    return name
  }
  const name = freeName(new URL(url).hostname, tools)
  tools.set(name, { type: 'mcp', url, tools: [...allowed] })
  return name
}

function freeName(host: string, tools: ImportedTools): string {
  const base = host
    .replace(/^(www|api|mcp)\./, '')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .slice(0, 50)
  const start = /^[A-Za-z]/.test(base) ? base : `mcp_${base}`
  let name = start
  for (let number = 2; tools.has(name); number += 1) name = `${start}_${number}`
  return name
}

const NO_NAMES =
  'Which tools of this MCP server agents may use is not said. Name them: ' +
  '"https://…/mcp#name" for one, or tool_filter with allowed_tool_names.'

function readServer(field: Field, report: Report): Server | undefined {
  if (typeof field.value === 'string') return readReference(field.value, field, report)
  const { value } = field
  if (isPython(value) || !isObject(value)) {
    report.leaveOut(field, PYTHON)
    return undefined
  }
  if (typeof value['url'] !== 'string') {
    report.leaveOut(
      field,
      'An MCP server that is a local program is not started by the platform. Serve it over ' +
        'streamable HTTP, and name its url.',
    )
    return undefined
  }
  if (value['transport'] === 'sse' || value['streamable'] === false) {
    report.note(field, 'Servers are called over streamable HTTP; the former SSE is not spoken.')
  }
  if (!isOff(value['headers'])) {
    const place = { file: field.file, key: `${field.key}.headers` }
    report.leaveOut(
      place,
      'Headers are not stored in a definition. Make a connection with the token, and name it as ' +
        'connection of the tool.',
    )
  }
  const names = allowedNames(value['tool_filter'])
  if (names.length === 0) report.leaveOut(field, NO_NAMES)
  return names.length === 0 ? undefined : checkUrl(value['url'], names, { field, report })
}

function allowedNames(filter: unknown): string[] {
  const names = isObject(filter) ? filter['allowed_tool_names'] : undefined
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []
}

function readReference(text: string, field: Field, report: Report): Server | undefined {
  const [url = '', tool = ''] = text.split('#')
  if (!/^https?:\/\//.test(url)) {
    report.leaveOut(
      field,
      'This is a server of the CrewAI platform. Name the url of the MCP server, with a ' +
        'connection for its token.',
    )
    return undefined
  }
  if (tool === '') report.leaveOut(field, NO_NAMES)
  return tool === '' ? undefined : checkUrl(url, [tool], { field, report })
}

/** Keys of services are often part of the address; a definition holds none. */
function checkUrl(
  url: string,
  tools: readonly string[],
  { field, report }: { field: Field; report: Report },
): Server | undefined {
  if (URL.canParse(url) && mayHoldKey(new URL(url))) {
    report.leaveOut(
      field,
      'The url of this MCP server holds a query or a password, which may be a key. Name the url ' +
        'without it, and make a connection for the key.',
    )
    return undefined
  }
  const problem = addressProblem(url)
  if (problem === undefined) return { url, tools }
  report.refuse(field, `The url of this MCP server ${problem}.`)
  return undefined
}

const mayHoldKey = ({ username, password, search }: URL): boolean =>
  username !== '' || password !== '' || search !== ''
