import { FILE_BYTES_MAX, fileTooLarge, storeInputFile } from '../../../platform/runs/input-files.ts'
import type { SentContent } from '../../../platform/crew-contract/file-types.ts'
import { AppError } from '../../../shared/errors.ts'
import { mediaType, readBody } from '../../../shared/http/request-body.ts'
import { readFileForm } from '../../http/file-uploads.ts'
import type { ApiRoute } from './api-route.ts'

/** Takes a file that inputs of later runs name. */
export const filesRoute: ApiRoute = {
  method: 'POST',
  path: '/files',
  async answer(c, { sql, takeTurn }) {
    const { automation, wide } = c.var
    const name = c.req.query('name')
    const file = await takeTurn(async () =>
      storeInputFile(sql, { automation, ...(await readFile(c.req.raw, name)) }),
    )
    wide['file_id'] = file.id
    const { id: file_id, size, sha256, mediaType: media_type } = file
    return c.json({ file_id, name: file.name, size, sha256, media_type }, 201)
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
