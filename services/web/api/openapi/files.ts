import { header, json, parameter, problem } from './parts.ts'

type Responses = Readonly<Record<string, unknown>>

const kickoffId = parameter('kickoff_id', 'path')

const artifacts = (common: Responses) => ({
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
})

const text = { schema: { type: 'string' } }

const artifact = (common: Responses) => ({
  operationId: 'artifact',
  tags: ['Automations'],
  summary: 'Read a file that a task of a run wrote',
  description: 'Always as a file to save, in UTF-8.',
  parameters: [kickoffId, parameter('name', 'path', { schema: { type: 'string' } })],
  responses: {
    '200': {
      description: 'Its content; the type is that of its extension, for a few.',
      headers: { 'Content-Disposition': header('attachment, with the name.') },
      content: {
        'text/plain': text,
        'text/csv': text,
        'text/markdown': text,
        'application/json': { schema: {} },
      },
    },
    ...common,
    '404': problem('This automation has no such kickoff, or the run wrote no such file.'),
  },
})

const binary = { type: 'string', format: 'binary' }

const sendFile = (common: Responses) => ({
  operationId: 'sendFile',
  tags: ['Automations'],
  summary: 'Send a file for the inputs of runs',
  description:
    'Then start a run with `{"file_id": "…"}` as the value of an input of the type `file`. Texts ' +
    'in UTF-8, PDF, DOCX, XLSX, PPTX, ODT, ODS, ODP and images of up to 20 MiB. A file ' +
    'that no run names is deleted after a day.',
  parameters: [
    parameter('name', 'query', {
      description: 'Needed unless a form says it.',
      schema: { type: 'string' },
    }),
  ],
  requestBody: {
    required: true,
    content: {
      'multipart/form-data': {
        schema: { type: 'object', required: ['file'], properties: { file: binary } },
      },
      'application/octet-stream': { schema: binary },
    },
  },
  responses: {
    '201': json('It is stored. The same file again is the same file.', 'File'),
    '400': problem('The form has no file, or the file no name.'),
    ...common,
    '413': problem('It is larger than 20 MiB, or the organization keeps 5 GiB already.'),
    '422': problem('It is empty, or of a type that agents do not work with.'),
  },
})

/** The operations for the files of runs; `common` has the errors of every call. */
export const fileOperations = (common: Responses) => ({
  artifacts: artifacts(common),
  artifact: artifact(common),
  files: sendFile(common),
})
