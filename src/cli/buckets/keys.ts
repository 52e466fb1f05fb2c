/** `zoneplane bucket key` and `bucket link`: credentials of S3 clients, and links that hold for a time. */
import { Option } from 'commander';
import { toHex } from '../../base/bytes.js';
import { AppError, UserError } from '../../base/errors.js';
import { requireBucket, requireBucketAccount } from '../../bucket/access.js';
import { LONGEST_LINK, makeLink, policiesOfBucket } from '../../bucket/credentials/keys.js';
import { isObjectKey } from '../../bucket/object-store.js';
import type { Settings } from '../../config/schema.js';
import { createKey } from '../../control/access/keys.js';
import { secretAccessKeyOf } from '../../control/access/secret-access-keys.js';
import { endpointOfS3 } from '../../roles/services/s3-door.js';
import { presign } from '../../s3/signature/presign.js';
import { wholeNumber } from '../arguments.js';
import type { Command, CommandContext } from '../command.js';
import { DATA_SETTINGS, printInstant, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';

interface KeyOptions {
  readonly account?: string;
  readonly readOnly?: boolean;
  readonly days?: number;
  readonly endpoint?: string;
  readonly json?: boolean;
}

interface LinkOptions {
  readonly account?: string;
  readonly expires: number;
  readonly method: 'GET' | 'PUT';
  readonly key?: string;
  readonly endpoint?: string;
  readonly json?: boolean;
}

export function addBucketKeyCommands(bucket: Command, context: CommandContext): void {
  addKeyCreate(bucket.command('key').description('credentials of S3 clients'), context);
  addLink(bucket, context);
}

/** Where clients reach the S3 API: as the settings say it, unless it is given. */
function endpointOf(settings: Settings, given: string | undefined): URL {
  if (given === undefined) return endpointOfS3(settings);
  try {
    return new URL(given);
  } catch {
    throw new UserError(`${given} is not a URL`, 'Name the endpoint as clients do, such as https://s3.example.com.', 2);
  }
}

function addKeyCreate(key: Command, { terminal, environment }: CommandContext): void {
  const create = key
    .command('create')
    .description('create credentials for one bucket, and print them once')
    .argument('<bucket>', 'name of the bucket')
    .option('--account <id>', 'account it belongs to (default: the first)')
    .option('--read-only', 'allow reading and listing only')
    .option('--days <count>', 'let them expire after this many days', wholeNumber(1, 36_500, 'days'))
    .option('--endpoint <url>', 'where clients reach the S3 API (default: as the settings say)')
    .printsJson('zoneplane bucket key create pictures --read-only');
  addSettingOptions(create, DATA_SETTINGS).action(async (name: string, options: KeyOptions) => {
    const made = await withControl(create, environment, async (context, settings, unlock) => {
      const endpoint = endpointOf(settings, options.endpoint);
      const bucket = requireBucket(context, options.account, name, 'default');
      await unlock();
      const { days } = options;
      const { key, secret } = await createKey(context, {
        ...{ name: `S3: ${name}`, kind: 'token', email: settings.adminEmail },
        policies: policiesOfBucket(context, bucket, options.readOnly === true),
        ...(days !== undefined && { expiresAt: context.clock.nowUs() + days * 86_400_000_000 }),
      });
      const secretAccessKey = secretAccessKeyOf(secret);
      return {
        endpoint: endpoint.origin,
        id: key.id,
        secretAccessKey,
        expiresAt: key.expiresAt,
        isOff: settings.s3 === 'off',
      };
    });
    const { endpoint, id, secretAccessKey, expiresAt } = made;
    if (options.json) {
      const expires_on = expiresAt === null ? null : printInstant(expiresAt);
      terminal.json({
        endpoint,
        access_key_id: id,
        secret_access_key: secretAccessKey,
        region: 'auto',
        bucket: name,
        expires_on,
      });
    } else for (const line of linesOf(name, made)) terminal.print(line);
    terminal.complain(`The secret is shown once. Revoke it with \`zoneplane key revoke ${id}\`.`);
    if (made.isOff) terminal.complain('The S3 API is off (--s3 off), so nobody can use them.');
  });
}

function linesOf(
  bucket: string,
  {
    endpoint,
    id,
    secretAccessKey,
  }: { readonly endpoint: string; readonly id: string; readonly secretAccessKey: string },
): string[] {
  return [
    `endpoint            ${endpoint}`,
    `access key ID       ${id}`,
    `secret access key   ${secretAccessKey}`,
    '',
    '# aws',
    `export AWS_ACCESS_KEY_ID=${id}`,
    `export AWS_SECRET_ACCESS_KEY=${secretAccessKey}`,
    'export AWS_DEFAULT_REGION=auto',
    `aws --endpoint-url ${endpoint} s3 ls s3://${bucket}`,
    '',
    '# rclone.conf',
    `[${bucket}]`,
    'type = s3',
    'provider = Other',
    `access_key_id = ${id}`,
    `secret_access_key = ${secretAccessKey}`,
    `endpoint = ${endpoint}`,
    'region = auto',
    'no_check_bucket = true',
  ];
}

function addLink(bucket: Command, { terminal, environment }: CommandContext): void {
  const link = bucket
    .command('link')
    .description('print a link with which anybody may read one object for a time')
    .argument('<bucket>', 'name of the bucket')
    .argument('<object>', 'key of the object')
    .option('--account <id>', 'account it belongs to (default: the first)')
    .option('--expires <seconds>', 'how long it holds', wholeNumber(1, LONGEST_LINK, 'seconds'), 3600)
    .addOption(new Option('--method <method>', 'PUT: to upload it').choices(['GET', 'PUT']).default('GET'))
    .option('--key <id>', 'token that signs it (default: one that may do no more than needed, if there is one)')
    .option('--endpoint <url>', 'where clients reach the S3 API (default: as the settings say)')
    .printsJson('zoneplane bucket link pictures cat.jpg --expires 600');
  addSettingOptions(link, DATA_SETTINGS).action(async (name: string, key: string, options: LinkOptions) => {
    const { expires, method } = options;
    if (key === '' || !isObjectKey(key)) throw new UserError('a key has 1 to 1024 octets', undefined, 2);
    const made = await withControl(link, environment, async (context, settings) => {
      const account = requireBucketAccount(context, options.account);
      const place = { accountId: toHex(account.id), name, jurisdiction: 'default' as const };
      const signer = { endpoint: endpointOf(settings, options.endpoint), presign };
      try {
        return await makeLink(context, place, { key, method, expires, signer: options.key }, signer);
      } catch (error) {
        if (!(error instanceof AppError) || error.key !== 'buckets.noSigner') throw error;
        const readOnly = method === 'GET' ? ' --read-only' : '';
        throw new UserError(error.message, `Make one with \`zoneplane bucket key create ${name}${readOnly}\`.`);
      }
    });
    if (options.json) terminal.json({ url: made.url, method, expires, access_key_id: made.accessKeyId });
    else {
      terminal.print(made.url);
      terminal.complain(`It ends earlier when the token is revoked: \`zoneplane key revoke ${made.accessKeyId}\`.`);
    }
  });
}
