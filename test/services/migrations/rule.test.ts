import { readdirSync, readFileSync } from 'node:fs'
import { loadModule } from 'libpg-query'
import { beforeAll, describe, expect, it } from 'vitest'
import { findBreakingChanges } from './breaking-changes.ts'

beforeAll(loadModule)

const migrations = ['platform', 'collector'].flatMap((service) => {
  const folder = new URL(`../../../services/${service}/migrations/`, import.meta.url)
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .map((name) => ({
      name: `${service}/${name}`,
      text: readFileSync(new URL(name, folder), 'utf8'),
    }))
})

describe('what the version before may fail by', () => {
  it('is in no migration, unless it says from which version on it is safe', () => {
    const found = migrations
      .filter(({ text }) => !/^-- contract: safe from \d{4}$/m.test(text))
      .flatMap(({ name, text }) => findBreakingChanges(text).map((each) => `${name}, ${each}`))
    expect(found).toEqual([])
  })

  it.each([
    ['drop table a', 'a table is dropped'],
    ['drop view a', 'a view is dropped'],
    ['drop function a(int)', 'a function is dropped'],
    ['drop trigger t on a', 'a trigger is dropped'],
    ['drop index a', 'their "on conflict" may need the index'],
    ['alter table a rename to b', 'something is renamed'],
    ['alter table a rename column b to c', 'something is renamed'],
    ['alter table a drop column b', 'a column is dropped, which they may read or write'],
    ['alter table a alter b set not null', 'a column becomes not null, which they may leave out'],
    ['alter table a alter b drop not null', 'they do not expect null in a column'],
    ['alter table a alter b type bigint', 'a column changes its type'],
    ['alter table a alter b drop default', 'a default is dropped, which they need'],
    ['alter table a add column b int not null', 'a column that they leave out'],
    ['alter table a add check (b > 0)', 'a constraint may refuse what they write'],
    ['alter table a drop constraint b', 'their "on conflict" may need the constraint'],
    ['create unique index on a (b)', 'a unique index may refuse what they write'],
    ['revoke select on a from b', 'a right is revoked'],
    ['do $$ begin end $$', 'a block of code, which this rule does not read'],
  ])('is told of: %s', (statement, problem) => {
    expect(findBreakingChanges(`select 1;\n-- why\n${statement};`)).toEqual([`line 3: ${problem}`])
  })

  it.each([
    ['create table a (b int not null); create unique index on a (b)'],
    ['alter table a add column b int'],
    ['alter table a add column b int not null default 0, add column c serial'],
    ['alter table a alter b set default 1'],
    ['alter table a validate constraint b'],
    ['create index on a (b)'],
    ['create or replace function f() returns int language sql as $$ select 1 $$'],
    ['drop function f(int); create function f() returns int language sql as $$ select 1 $$'],
    ['drop trigger t on a; create trigger t after insert on a execute function f()'],
    ['alter table a rename to a_old; create table a (b int)'],
    ['alter index a rename to b'],
    ['-- safe: nobody ever wrote it\nalter table a drop column b'],
    ['grant select on a to b'],
  ])('is not: %s', (statements) => {
    expect(findBreakingChanges(statements)).toEqual([])
  })
})
