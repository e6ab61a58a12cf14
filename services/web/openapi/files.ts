import { header, json, parameter, problem } from './parts.ts'

type Responses = Readonly<Record<string, unknown>>

/** The operations for the files of runs; `common` has the errors of every call. */
export function fileOperations(common: Responses) {
  const kickoffId = parameter('kickoff_id', 'path')
  const artifacts = {
    operationId: 'artifacts',
    tags: ['Automations'],
    summary: 'List the files that the tasks of a run wrote',
    description: 'Those of tasks with an `output_file`, as soon as the task is done.',
    parameters: [kickoffId],
    responses: {
      '200': json('The files.', 'Artifacts'),
      ...common,
      '404': problem('This automation has no such kickoff.'),
    },
  }
  const artifact = {
    operationId: 'artifact',
    tags: ['Automations'],
    summary: 'Read a file that a task of a run wrote',
    description: 'Always as a file to save, in UTF-8.',
    parameters: [kickoffId, parameter('name', 'path', { schema: { type: 'string' } })],
    responses: {
      '200': {
        description: 'Its content; the type is that of its extension, for a few.',
        headers: { 'Content-Disposition': header('attachment, with the name.') },
        content: { 'text/plain': { schema: { type: 'string' } } },
      },
      ...common,
      '404': problem('This automation has no such kickoff, or the run wrote no such file.'),
    },
  }
  return { artifacts, artifact }
}
