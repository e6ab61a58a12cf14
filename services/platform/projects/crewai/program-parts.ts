import { didYouMean } from '../../../shared/closest.ts'
import type { ProjectParts } from './crew-files.ts'
import { methodOf, toValue } from './crew-program.ts'
import type { FoundProgram, Method } from './crew-program.ts'
import type { Field, Fields, Part } from './fields.ts'
import type { Expression } from './python-values.ts'
import { PYTHON } from './report.ts'
import type { Report } from './report.ts'

interface Entries {
  readonly agents: readonly Part[]
  readonly tasks: readonly Part[]
}

/** Methods that are read where something names them. */
const NAMED = ['tool', 'llm', 'callback', 'cache_handler', 'output_json', 'output_pydantic']

interface Context {
  readonly found: FoundProgram
  readonly report: Report
}

/** Returns the parts of a crew as its class makes them of the entries of its YAML files. */
export function readMethods(
  found: FoundProgram,
  entries: Entries,
  report: Report,
): Omit<ProjectParts, 'read' | 'root'> {
  const { file, program } = found
  const context = { found, report }
  const agents = readParts(context, 'agent', entries.agents)
  const tasks = readParts(context, 'task', entries.tasks)
  const crewMethod = withDecorator(found, 'crew')[0]
  const crew = new Map(crewMethod ? fieldsOfCall(context, crewMethod, 'Crew') : [])
  const ordered = { agents: order('agents', agents), tasks: order('tasks', tasks) }
  const name = crew.get('name')?.value
  for (const key of ['agents', 'tasks', 'name']) crew.delete(key)
  for (const { name: method, decorators } of program.methods) {
    const isKnown = decorators.some((each) => ['agent', 'task', 'crew', ...NAMED].includes(each))
    if (!isKnown) report.leaveOut({ file, key: method }, PYTHON)
  }
  if (program.attributes.has('mcp_server_params')) {
    const place = { file, key: 'mcp_server_params' }
    report.leaveOut(place, 'Add the servers to the definition as tools of the type mcp.')
  }
  return { name: typeof name === 'string' ? name : program.className, ...ordered, crew }

  /** `tasks=self.tasks` is all of them; a list names some, in another order perhaps. */
  function order(key: 'agents' | 'tasks', parts: readonly Part[]): readonly Part[] {
    const field = crew.get(key)
    if (!field || field.value === `self.${key}`) return parts
    const { value } = field
    const names: readonly unknown[] = Array.isArray(value) ? value : [undefined]
    const chosen = names.map((each) => parts.find((part) => part.name === each))
    const known = chosen.filter((part) => part !== undefined)
    if (known.length === chosen.length) return known
    report.refuse(field, `This is not a list of methods such as [self.${parts[0]?.name}()].`)
    return parts
  }
}

const withDecorator = ({ program }: FoundProgram, decorator: string): Method[] =>
  program.methods.filter(({ decorators }) => decorators.includes(decorator))

function readParts(context: Context, kind: 'agent' | 'task', entries: readonly Part[]): Part[] {
  const { found, report } = context
  const used = new Set<string>()
  const parts = withDecorator(found, kind).map((method) => {
    const given = fieldsOfCall(context, method, kind === 'agent' ? 'Agent' : 'Task')
    const entry = entries.find(({ name }) => name === nameOfEntry(method))
    if (entry) used.add(entry.name)
    const place = { file: found.file, key: method.name }
    const config = configOf(method)
    if (config !== undefined && !entry) {
      const names = entries.map(({ name }) => name)
      report.refuse(place, `There is no entry ${config}.${didYouMean(config, names)}`)
    }
    const fields = new Map([...(entry?.fields ?? []), ...given])
    fields.delete('config')
    return { ...(entry ?? place), name: method.name, fields: withModels(context, fields) }
  })
  for (const entry of entries.filter(({ name }) => !used.has(name))) {
    report.note(entry, `No method of ${found.file} uses this entry, so it is not imported.`)
  }
  return parts
}

/** The entry that `config=self.tasks_config['name']` names. */
function configOf({ returned }: Method): string | undefined {
  const config =
    returned?.kind === 'call' ? returned.named.find(([each]) => each === 'config')?.[1] : undefined
  return config?.kind === 'entry' ? config.key : undefined
}

/** A method that is not understood has the entry of its name. */
const nameOfEntry = (method: Method): string | undefined =>
  configOf(method) ?? (method.returned?.kind === 'call' ? undefined : method.name)

/** The named arguments of the call of a class that a method returns. */
function fieldsOfCall({ found, report }: Context, method: Method, className: string): Fields {
  const { file } = found
  const { name, returned } = method
  const place = { file, key: name }
  if (returned?.kind !== 'call' || !returned.name.endsWith(className)) {
    report.leaveOut(place, `Only a method that returns ${className}(…) is read. ${PYTHON}`)
    return new Map()
  }
  if (returned.positional.length > 0) report.leaveOut(place, PYTHON)
  return new Map(
    returned.named.map(([key, value]): [string, Field] => {
      const field = { file, key: `${name}.${key}` }
      if (key === 'config' && value.kind !== 'entry') report.refuse({ ...place, ...field }, PYTHON)
      return [key, { ...field, value: toFieldValue(key, value) }]
    }),
  )
}

const LISTS = ['agents', 'tasks', 'context']
const ONE = ['agent', 'manager_agent']

/** Methods that other parts are named by become their names. */
function toFieldValue(key: string, value: Expression): unknown {
  if (ONE.includes(key)) return methodOf(value) ?? toValue(value)
  if (LISTS.includes(key) && value.kind === 'name') return value.name
  if (!LISTS.includes(key) || value.kind !== 'list') return toValue(value)
  return value.items.map((each) => methodOf(each) ?? toValue(each))
}

/** `llm: name` and `llm=self.name()` call the method of that name, if there is one. */
function withModels({ found }: Context, fields: Fields): Fields {
  const field = fields.get('llm')
  const called = /^self\.(\w+)\(\)$/.exec(pythonOf(field?.value))?.[1] ?? field?.value
  const method = withDecorator(found, 'llm').find(({ name }) => name === called)
  if (!field || !method) return fields
  const value = method.returned ? toValue(method.returned) : { python: `self.${method.name}()` }
  return new Map([...fields, ['llm', { ...field, value }]])
}

function pythonOf(value: unknown): string {
  return typeof value === 'object' && value !== null && 'python' in value
    ? String(value.python)
    : ''
}
