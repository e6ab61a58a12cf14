import { expect, it } from 'vitest'
import { storeInputFile } from '../../../services/platform/runs/input-files.ts'
import { ownCrewDefinition } from '../../../services/platform/definitions/own-crew-definition.ts'
import { prepareInputs } from '../../../services/platform/runs/prepare-inputs.ts'
import { seedOwnAutomation } from '../../support/own-crew.ts'
import { useDatabase } from '../../support/use-database.ts'

const database = useDatabase()

it('any input of a crew from source may name a file of its automation', async () => {
  const { sql } = database
  const automation = await seedOwnAutomation(sql, 'Reader', 'Acme')
  const sent = { automation, name: 'q3.csv', declared: '', chunks: [Buffer.from('a;b')] }
  const { id } = await storeInputFile(sql, sent)
  const definition = ownCrewDefinition({ name: 'Reader', inputs: ['report'] })
  const prepare = (inputs: Record<string, unknown>) =>
    prepareInputs(sql, { automation, definition, inputs })
  const file = { file_id: id, name: 'q3.csv', media_type: 'text/csv', size: 3 }
  const other = { file_id: 7 }
  expect(await prepare({ report: { file_id: id }, more: file, other, text: id })).toMatchObject({
    inputs: { report: file, more: file, other, text: id },
    files: [id],
  })
  const unknown = '00000000-0000-4000-8000-000000000000'
  await expect(prepare({ report: { file_id: unknown } })).rejects.toThrow('names no file of this')
})
