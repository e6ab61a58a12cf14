import { describe, expect, it, vi } from 'vitest'
import { PROVE_TASK } from '../../../../services/tasks/prove/task.ts'

const SOURCE = {
  LOG_LEVEL: 'silent',
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  BACKUP_PASSPHRASE: 'the passphrase of these backups',
  BACKUP_DIRECTORY: '/nowhere',
}

const prove = (...args: string[]): Promise<number> => PROVE_TASK.run(SOURCE, args)

describe('the task upgrade:prove', () => {
  it('explains itself, without a database', async () => {
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
    try {
      expect(await prove('--help')).toBe(0)
      expect(write).toHaveBeenCalledWith(expect.stringContaining('Exit code: 0 when it is proven'))
      expect(await prove('--check', 'package.json')).toBe(2)
      expect(write).toHaveBeenCalledWith(
        'package.json is not a verdict signed with this passphrase\n',
      )
    } finally {
      write.mockRestore()
    }
  })

  it.each([
    [['--only', 'web'], '--only is "web"; it may be main or collector.'],
    [['--minutes', '1.5'], '--minutes is "1.5"; it may be 0 to 10080, in whole numbers.'],
    [['--free-gib', '-1'], "Option '--free-gib' argument is ambiguous"],
    [['--out', '/nowhere/verdict.json'], '--out cannot be written: ENOENT'],
    [['--check', '/nowhere'], '/nowhere cannot be read: ENOENT'],
    [['latest'], "Unexpected argument 'latest'"],
  ])('refuses %j, before it looks at anything', async (args, message) => {
    await expect(prove(...args)).rejects.toThrow(message)
  })
})
