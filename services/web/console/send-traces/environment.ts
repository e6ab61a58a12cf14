import { shellWord } from '../../../shared/shell-word.ts'

/** What the variable of the token has before there is one to show. */
const PLACEHOLDER = 'the token that you were shown'

/** The commands that set the variables which every OpenTelemetry SDK reads. */
export function environmentCommands(endpoint: string, token = PLACEHOLDER): string {
  return [
    `export TRACE_TOKEN=${shellWord(token)}`,
    'export OTEL_SERVICE_NAME=weather',
    `export OTEL_EXPORTER_OTLP_ENDPOINT=${shellWord(endpoint)}`,
    'export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf',
    'export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20$TRACE_TOKEN"',
    'export OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none',
  ].join('\n')
}

/** The command that lists the traces of the last hours, with a token that reads. */
export const readCommand = (endpoint: string, token: string): string =>
  [
    `curl ${shellWord(`${endpoint}/api/traces`)} \\`,
    `  -H ${shellWord(`Authorization: Bearer ${token}`)}`,
  ].join('\n')
