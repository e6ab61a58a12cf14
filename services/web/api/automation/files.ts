import { FILE_BYTES_MAX, fileTooLarge, storeInputFile } from '../../../platform/runs/input-files.ts'
import type { SentContent } from '../../../platform/crew-contract/file-types.ts'
import { AppError } from '../../../shared/errors.ts'
import { mediaType, readBody } from '../../../shared/http/request-body.ts'
import { readFileForm } from '../../http/file-uploads.ts'
import * as s from '../openapi/parts.ts'
import { starting } from './api-route.ts'
import type { ApiRoute } from './api-route.ts'

const fileDocument = s.document('File', {
  file_id: s.say(s.uuid, 'What an input of the type file names.'),
  name: s.text,
  size: s.say(s.integer, 'In bytes.'),
  sha256: { ...s.text, pattern: '^[0-9a-f]{64}$' },
  media_type: { ...s.text, description: 'By what is in the file.', examples: ['text/csv'] },
})

/** Takes a file that inputs of later runs name. */
export const filesRoute: ApiRoute = {
  method: 'POST',
  path: '/files',
  operation: starting('sendFile', 'Send a file for the inputs of runs', {
    description:
      'Then start a run with `{"file_id": "…"}` as the value of an input of the type `file`. ' +
      'Texts in UTF-8, PDF, DOCX, XLSX, PPTX, ODT, ODS, ODP and images of up to 20 MiB. A file ' +
      'that no run names is deleted after a day.',
    parameters: [s.parameter('name', 'query', { description: 'Needed unless a form says it.' })],
    body: {
      content: {
        'multipart/form-data': {
          schema: { type: 'object', required: ['file'], properties: { file: s.file.schema } },
        },
        'application/octet-stream': s.file,
      },
    },
    201: ['It is stored. The same file again is the same file.', fileDocument],
    400: 'The form has no file, or the file no name.',
    413: 'It is larger than 20 MiB, or the organization keeps 5 GiB already.',
    422: 'It is empty, or of a type that agents do not work with.',
  }),
  async answer(c, { sql, takeTurn }) {
    const { automation, wide } = c.var
    const name = c.req.query('name')
    const file = await takeTurn(async () =>
      storeInputFile(sql, { automation, ...(await readFile(c.req.raw, name)) }),
    )
    wide['file_id'] = file.id
    return c.json(fileDocument.of({ ...file, fileId: file.id }), 201)
  },
}

/** A form with one file, or the file itself, which the query names. */
async function readFile(request: Request, name: string | undefined): Promise<SentContent> {
  const declared = mediaType(request)
  if (declared !== 'multipart/form-data') {
    if (!name) {
      throw new AppError(
        'invalid_request',
        'Name the file: …/files?name=report.csv, or send it as the field "file" of a form.',
      )
    }
    if (Number(request.headers.get('content-length') ?? 0) > FILE_BYTES_MAX) throw fileTooLarge()
    return { name, declared, chunks: [await readBody(request, FILE_BYTES_MAX)] }
  }
  const { files } = await readFileForm(request)
  const [file, ...others] = files
  if (file?.field === 'file' && others.length === 0) return { ...file, name: name ?? file.name }
  throw new AppError('invalid_request', 'The form has one file, in the field "file".')
}
