/** `zoneplane bucket`: buckets, and which of them the bucket application serves. */
import { Option } from 'commander';
import {
  type BucketItem,
  type BucketUsage,
  bindBucket,
  bucketUsage,
  createBucket,
  deleteBucket,
  getBucket,
  listEveryBucket,
} from '../bucket/buckets.js';
import type { Context } from '../control/kernel/context.js';
import {
  JURISDICTIONS,
  type Jurisdiction,
  LOCATIONS,
  type Location,
  STORAGE_CLASSES,
  type StorageClass,
} from '../store/objects/buckets.js';
import { addBucketKeyCommands } from './buckets/keys.js';
import { addBucketRulesCommand } from './buckets/rules.js';
import type { Command, CommandContext } from './command.js';
import { DATA_SETTINGS, printInstant, withControl } from './control.js';
import { addSettingOptions } from './settings.js';

interface PlaceOptions {
  readonly account?: string;
  readonly jurisdiction: Jurisdiction;
  readonly json?: boolean;
}

interface CreateOptions extends PlaceOptions {
  readonly location?: Location;
  readonly storageClass?: StorageClass;
}

export function addBucketCommands(program: Command, context: CommandContext): void {
  const bucket = program.command('bucket');
  addCreate(bucket, context);
  addList(bucket, context);
  addInfo(bucket, context);
  addDelete(bucket, context);
  addBind(bucket, context);
  addBucketKeyCommands(bucket, context);
  addBucketRulesCommand(bucket, context, addPlace);
}

/** Where a bucket is looked for; the same flags everywhere. */
function addPlace(command: Command): Command {
  return command
    .option('--account <id>', 'account it belongs to (default: the first)')
    .addOption(
      new Option('--jurisdiction <name>', 'names are unique within one').choices([...JURISDICTIONS]).default('default'),
    )
    .option('--json', 'print JSON');
}

function addCreate(bucket: Command, { terminal, environment }: CommandContext): void {
  const create = addPlace(
    bucket
      .command('create')
      .description('create an empty bucket')
      .argument('<name>', '3 to 63 lower-case letters, digits and hyphens'),
  )
    .addOption(new Option('--location <hint>', 'shown with the bucket; there is one location').choices([...LOCATIONS]))
    .addOption(
      new Option('--storage-class <class>', 'class of objects that name none')
        .choices([...STORAGE_CLASSES])
        .default('Standard'),
    )
    .example('zoneplane bucket create pictures');
  addSettingOptions(create, DATA_SETTINGS).action(async (name: string, options: CreateOptions) => {
    const { account, jurisdiction, location, storageClass } = options;
    const made = await withControl(
      create,
      environment,
      (context) => createBucket(context, account, { name, jurisdiction, locationHint: location, storageClass }),
      'initialise',
    );
    if (options.json) return terminal.json(viewBucket(made));
    terminal.print(`created bucket ${describe(made)}`);
    terminal.print(`Serve it with \`zoneplane bucket bind ${made.name} --binding MY_BUCKET\`.`);
  });
}

function addList(bucket: Command, { terminal, environment }: CommandContext): void {
  const list = bucket
    .command('list')
    .description('list buckets of all accounts and jurisdictions')
    .option('--account <id>', 'only those of one account')
    .printsJson('zoneplane bucket list');
  addSettingOptions(list, DATA_SETTINGS).action(async ({ account, json }: { account?: string; json?: boolean }) => {
    const found = await withControl(list, environment, async (context) => {
      const buckets = await listEveryBucket(context, account);
      return Promise.all(buckets.map(async (item) => ({ item, usage: await usageOf(context, item) })));
    });
    if (json) return terminal.json(found.map(({ item, usage }) => viewBucket(item, usage)));
    terminal.table(
      ['name', 'jurisdiction', 'account', 'class', 'objects', 'octets', 'binding', 'created'],
      found.map(({ item, usage }) => [
        item.name,
        item.jurisdiction,
        item.account.name,
        item.storageClass,
        String(usage.objects),
        String(usage.payloadOctets),
        item.bindings.join(',') || '-',
        printInstant(item.createdAt),
      ]),
      'There are no buckets. Make one with `zoneplane bucket create NAME`.',
    );
  });
}

const usageOf = (context: Context, { account, name, jurisdiction }: BucketItem): Promise<BucketUsage> =>
  bucketUsage(context, account.id, name, jurisdiction);

function addInfo(bucket: Command, { terminal, environment }: CommandContext): void {
  const info = addPlace(
    bucket.command('info').description('show one bucket, and what is in it').argument('<name>', 'name of the bucket'),
  ).example('zoneplane bucket info pictures');
  addSettingOptions(info, DATA_SETTINGS).action(async (name: string, options: PlaceOptions) => {
    const { item, usage } = await withControl(info, environment, async (context) => {
      const found = await getBucket(context, options.account, name, options.jurisdiction);
      return { item: found, usage: await usageOf(context, found) };
    });
    if (options.json) return terminal.json(viewBucket(item, usage));
    const lines: [string, string][] = [
      ['name', item.name],
      ['jurisdiction', item.jurisdiction],
      ['account', `${item.account.name} (${item.account.id})`],
      ['location', item.location ?? '-'],
      ['storage class', item.storageClass],
      ['objects', String(usage.objects)],
      ['octets', String(usage.payloadOctets)],
      ['binding', item.bindings.join(', ') || '-'],
      ['created', printInstant(item.createdAt)],
    ];
    for (const [label, value] of lines) terminal.print(`${label.padEnd(14)}${value}`);
  });
}

function addDelete(bucket: Command, { terminal, environment }: CommandContext): void {
  const remove = addPlace(
    bucket.command('delete').description('delete an empty bucket').argument('<name>', 'name of the bucket'),
  ).example('zoneplane bucket delete pictures');
  addSettingOptions(remove, DATA_SETTINGS).action(async (name: string, options: PlaceOptions) => {
    const deleted = await withControl(remove, environment, (context) =>
      deleteBucket(context, options.account, name, options.jurisdiction),
    );
    if (options.json) terminal.json(viewBucket(deleted));
    else terminal.print(`deleted bucket ${describe(deleted)}`);
    if (deleted.bindings.length > 0) {
      terminal.complain(
        `It was bound to ${deleted.bindings.join(', ')}: bind another bucket for the application to serve.`,
      );
    }
    if (!options.json) terminal.print('See the others with `zoneplane bucket list`.');
  });
}

function addBind(bucket: Command, { terminal, environment }: CommandContext): void {
  const bind = addPlace(
    bucket
      .command('bind')
      .description('let the bucket application serve a bucket, under the name of a variable')
      .argument('<name>', 'name of the bucket'),
  )
    .requiredOption('--binding <identifier>', 'a JavaScript identifier, such as MY_BUCKET')
    .example('zoneplane bucket bind pictures --binding MY_BUCKET');
  addSettingOptions(bind, DATA_SETTINGS).action(
    async (name: string, options: PlaceOptions & { readonly binding: string }) => {
      const bound = await withControl(bind, environment, (context) =>
        bindBucket(context, options.account, name, options.jurisdiction, options.binding),
      );
      if (options.json) terminal.json(viewBucket(bound));
      else {
        terminal.print(`bound bucket ${describe(bound)} to ${options.binding}; the application serves it`);
        terminal.print('Changes need a secret: `zoneplane secret put AUTH_KEY_SECRET`.');
      }
    },
  );
}

function describe({ name, jurisdiction }: BucketItem): string {
  return jurisdiction === 'default' ? name : `${name} (${jurisdiction})`;
}

function viewBucket(item: BucketItem, usage?: BucketUsage): object {
  return {
    name: item.name,
    jurisdiction: item.jurisdiction,
    account_id: item.account.id,
    location: item.location,
    storage_class: item.storageClass,
    bindings: item.bindings,
    created_on: printInstant(item.createdAt),
    ...(usage && { objects: usage.objects, octets: usage.payloadOctets }),
  };
}
