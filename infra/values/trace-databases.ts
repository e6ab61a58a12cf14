import { boolean, group, port, string } from '../template/schema.ts'
import * as type from '../value-types.ts'

/** Where traces are kept and read, beside the platform's own server. */
export const traceDatabases = {
  database: group('A PostgreSQL server for the traces alone.', {
    host: string('', 'Host. Empty means the server of the platform.', {
      pattern: /^([A-Za-z0-9][A-Za-z0-9.-]*)?$/,
      expected: 'a host name or address, or ""',
    }),
    port: port(5432, 'Port.'),
    name: string(
      '',
      'Database on that server. Empty means the name in `postgres.collectorDatabase`.',
      {
        pattern: /^([A-Za-z_][A-Za-z0-9_-]{0,62})?$/,
        expected: 'a PostgreSQL database name of up to 63 letters, digits, - and _, or ""',
      },
    ),
    create: boolean(
      false,
      'Create that database when it is missing: the user needs `CREATEDB`, and a database ' +
        '`postgres` to connect to. `false` means that it exists.',
    ),
    user: type.databaseUser('collector', 'User with all privileges on the database.'),
    passwordSecret: type.objectName('Secret of yours with the password of that user.'),
    passwordKey: type.dataKey('password', 'Key in that Secret.'),
    sslMode: type.sslMode('How connections to that server are encrypted.'),
  }),
  readDatabase: group(
    'A streaming replica of the trace database, which the read API asks instead of it. Each ' +
      'answer says how far the replica may be behind.',
    {
      urlSecret: type.objectName(
        'Secret of yours with its address, such as ' +
          '`postgres://user:password@replica:5432/collector?sslmode=verify-full`. Empty means ' +
          'that there is no replica.',
      ),
      urlKey: type.dataKey('url', 'Key in that Secret.'),
      port: port(5432, 'Port in that address, for the network policy.'),
    },
  ),
  citus: group('For a trace database on Citus, which spreads the spans over several servers.', {
    distribute: boolean(
      false,
      'Distribute the spans by trace id, with those that are there. It is not taken back by ' +
        '`false`.',
    ),
    coordinatorSecret: type.objectName(
      'Secret of yours with the address of the coordinator, as in `readDatabase`. Only needed ' +
        'when `database` is another node, through which the spans are written.',
    ),
    coordinatorKey: type.dataKey('url', 'Key in that Secret.'),
  }),
}
