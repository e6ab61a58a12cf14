import { closed, integer, list, moment, schema, text, uuid } from './parts.ts'

/** The schemas of the files that runs are given, and that they write. */
export const FILE_SCHEMAS = {
  File: closed({
    file_id: { ...uuid, description: 'What an input of the type file names.' },
    name: text,
    size: { ...integer, description: 'In bytes.' },
    sha256: { ...text, pattern: '^[0-9a-f]{64}$' },
    media_type: { ...text, description: 'By what is in the file.', examples: ['text/csv'] },
  }),
  Artifact: closed({
    name: text,
    task: { ...text, description: 'The key of the task that wrote it.' },
    size: { ...integer, description: 'In bytes.' },
    left_out_characters: {
      ...integer,
      description: 'What was beyond the 1 MiB that is kept; 0: all of it is there.',
    },
    created_at: moment,
    url: { ...text, format: 'uri' },
  }),
  Artifacts: closed({ kickoff_id: uuid, artifacts: list(schema('Artifact')) }),
}
