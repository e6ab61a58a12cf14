import { readFileSync } from 'node:fs'

/** A program that sends a trace, ready to be copied. */
export interface Setting {
  /** Its word in addresses. */
  readonly key: SettingKey
  /** The language or library, as its tab says it. */
  readonly name: string
  /** What the program traces, and by what. */
  readonly hint: string
  /** The commands that install what it needs, in a folder of its own. */
  readonly install: string
  readonly files: readonly { readonly name: string; readonly text: string }[]
  /** The command that runs it, in the shell that has the variables. */
  readonly run: string
}

const OTLP_PYTHON = 'opentelemetry-sdk opentelemetry-exporter-otlp-proto-http'
const BY_HAND =
  'No library is needed for the model: the attributes say what was asked and answered.'

const PROGRAMS = {
  'python-openinference': {
    name: 'Python, OpenInference',
    hint: 'Every call of the OpenAI client, by OpenInference. It has instrumentations for others.',
    install: `pip install openai openinference-instrumentation-openai ${OTLP_PYTHON}`,
    files: { 'weather.py': 'python-openinference.py' },
    run: 'python weather.py',
  },
  'python-openllmetry': {
    name: 'Python, OpenLLMetry',
    hint: 'Whatever the Traceloop SDK knows, with workflows and tasks of your own.',
    install: 'pip install openai httpx traceloop-sdk',
    files: { 'weather.py': 'python-openllmetry.py' },
    run: 'TRACELOOP_METRICS_ENABLED=false TRACELOOP_TELEMETRY=false python weather.py',
  },
  crewai: {
    name: 'CrewAI',
    hint: 'Crews, agents, tasks, tools and calls of models, by OpenInference.',
    install:
      'pip install crewai openinference-instrumentation-crewai \\\n' +
      `  openinference-instrumentation-openai ${OTLP_PYTHON}`,
    files: { 'weather.py': 'crewai.py' },
    run: 'python weather.py',
  },
  langchain: {
    name: 'LangChain',
    hint: 'Agents, chains, tools and calls of models, by OpenInference; LangGraph as well.',
    install:
      'pip install langchain langchain-openai openinference-instrumentation-langchain \\\n' +
      `  ${OTLP_PYTHON}`,
    files: { 'weather.py': 'langchain.py' },
    run: 'python weather.py',
  },
  'vercel-ai': {
    name: 'Vercel AI SDK',
    hint: 'Every call of the AI SDK, version 7, by its own package for OpenTelemetry.',
    install: 'npm install ai @ai-sdk/openai @ai-sdk/otel @opentelemetry/sdk-node',
    files: { 'weather.mjs': 'vercel-ai.mjs' },
    run: 'node weather.mjs',
  },
  node: {
    name: 'Node',
    hint: `The OpenTelemetry SDK. ${BY_HAND}`,
    install:
      'npm install @opentelemetry/api @opentelemetry/resources @opentelemetry/sdk-trace-base \\\n' +
      '  @opentelemetry/exporter-trace-otlp-proto',
    files: { 'weather.mjs': 'node.mjs' },
    run: 'node weather.mjs',
  },
  java: {
    name: 'Java',
    hint: `The OpenTelemetry SDK. ${BY_HAND}`,
    install: 'mvn -q compile',
    files: { 'pom.xml': 'pom.xml', 'src/main/java/Main.java': 'Main.java' },
    run: 'mvn -q exec:java -Dexec.mainClass=Main',
  },
  go: {
    name: 'Go',
    hint: `The OpenTelemetry SDK. ${BY_HAND}`,
    install: 'go mod init weather && go mod tidy',
    files: { 'main.go': 'main.go' },
    run: 'go run .',
  },
  dotnet: {
    name: '.NET',
    hint: `The OpenTelemetry SDK. ${BY_HAND}`,
    install: 'dotnet new console\ndotnet add package OpenTelemetry.Exporter.OpenTelemetryProtocol',
    files: { 'Program.cs': 'Program.cs' },
    run: 'dotnet run',
  },
  collector: {
    name: 'OpenTelemetry Collector',
    hint: 'Takes OTLP on this machine and passes it on, for programs that it already serves.',
    install: 'otelcol --version',
    files: { 'collector.yaml': 'collector.yaml' },
    run: 'otelcol --config collector.yaml',
  },
} as const satisfies Readonly<
  Record<
    string,
    Omit<Setting, 'key' | 'files'> & { readonly files: Readonly<Record<string, string>> }
  >
>

/** The word of a program in addresses. */
export type SettingKey = keyof typeof PROGRAMS

const isSettingKey = (word: string): word is SettingKey => Object.hasOwn(PROGRAMS, word)

/** The programs in the order of their tabs. */
export interface Settings {
  readonly all: readonly Setting[]
  /** The one of a word in an address; the first one for any other word. */
  find(word: string): Setting
}

/** Reads the programs of the folder `settings`. Throws when one is missing. */
export function createSettings(): Settings {
  const folder = new URL('./settings/', import.meta.url)
  const toSetting = (key: SettingKey): Setting => {
    const { files, ...others } = PROGRAMS[key]
    const read = Object.entries(files).map(([name, file]) => ({
      name,
      text: readFileSync(new URL(file, folder), 'utf8').trimEnd(),
    }))
    return { key, ...others, files: read }
  }
  const byKey = new Map(
    Object.keys(PROGRAMS)
      .filter(isSettingKey)
      .map((key) => [key, toSetting(key)]),
  )
  const first = toSetting('python-openinference')
  return {
    all: [...byKey.values()],
    find: (word) => (isSettingKey(word) ? (byKey.get(word) ?? first) : first),
  }
}
