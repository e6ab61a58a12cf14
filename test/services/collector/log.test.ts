import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import { createLog } from '../../../services/shared/log.ts'
import { bearer, createHarness, JSON_TYPE } from './support/harness.ts'
import { requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'

it('logs neither tokens nor what is sent, whatever happens to it', async () => {
  const lines: string[] = []
  const destination = new Writable({
    write(chunk, _, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const log = createLog({ name: 'collector', level: 'trace', destination })
  const harness = await createHarness({}, { log })
  await harness.sql`alter table spans add constraint tasty check (name <> 'sekrit-poison')`
  const authorization = await bearer()
  const span = spanOf({ name: 'sekrit-name', attributes: [textAttribute('k', 'sekrit-value')] })
  const bodies = [
    toProtobuf(requestOf(span)),
    toProtobuf(requestOf(spanOf({ name: 'sekrit-poison' }))),
    toProtobuf(requestOf(spanOf({ traceId: '', name: 'sekrit-refused' }), spanOf())),
    Buffer.from('sekrit-damaged'),
  ]
  for (const body of [...bodies, ...bodies]) await harness.post(body, { authorization })
  await harness.post('{"sekrit": ', { authorization, 'content-type': JSON_TYPE })
  await harness.post('', { authorization: `${authorization}sekrit` })
  await harness.stop()
  const written = lines.join('')
  expect(written).toContain('"msg":"ready"')
  expect(written).not.toContain('sekrit')
  expect(written).not.toContain(authorization.slice('Bearer '.length))
  const informed = lines.filter((line) => line.includes('"level":"info"'))
  expect(informed.filter((line) => line.includes('duration_ms'))).toEqual([])
})
