/** `zoneplane bucket rules`: CORS, lifecycle and lock rules of a bucket, as JSON. */
import { readFileSync } from 'node:fs';
import { Argument } from 'commander';
import { ruleLists } from '../../api/r2-rules/schema.js';
import { toHex } from '../../base/bytes.js';
import { messageOf, UserError } from '../../base/errors.js';
import { requireBucketAccount } from '../../bucket/access.js';
import { DEFAULT_RULES } from '../../bucket/rules/lifecycle.js';
import { getRules, setRules } from '../../bucket/rules/rule-sets.js';
import type { Jurisdiction } from '../../store/objects/buckets.js';
import { RULE_KINDS, type RuleKind } from '../../store/objects/rules.js';
import type { Command, CommandContext } from '../command.js';
import { DATA_SETTINGS, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';

interface RulesOptions {
  readonly account?: string;
  readonly jurisdiction: Jurisdiction;
  readonly set?: string;
  readonly remove?: boolean;
}

/** `place`: adds the options that name a bucket. */
export function addBucketRulesCommand(
  bucket: Command,
  context: CommandContext,
  place: (command: Command) => Command,
): void {
  const { terminal, environment } = context;
  const rules = place(
    bucket
      .command('rules')
      .description('print or replace the rules of a bucket, as the API has them')
      .argument('<bucket>', 'name of the bucket')
      .addArgument(new Argument('<kind>', 'what they are about').choices([...RULE_KINDS])),
  )
    .option('--set <file>', 'replace all of them by those of a JSON file ({"rules": […]}; -: standard input)')
    .option('--remove', 'remove all of them')
    .example('zoneplane bucket rules pictures cors --set cors.json');
  addSettingOptions(rules, DATA_SETTINGS).action(async (name: string, kind: RuleKind, options: RulesOptions) => {
    const { account, jurisdiction, set, remove } = options;
    if (set !== undefined && remove) throw new UserError('--set and --remove exclude each other', undefined, 2);
    const wanted = remove ? [] : set === undefined ? undefined : readRules(kind, set);
    const now = await withControl(rules, environment, async (control) => {
      const accountId = toHex(requireBucketAccount(control, account).id);
      const at = { accountId, name, jurisdiction };
      if (wanted) await setRules(control, at, kind, wanted as never);
      return getRules(control, at, kind) ?? (kind === 'lifecycle' ? DEFAULT_RULES : []);
    });
    terminal.print(JSON.stringify({ rules: now }, undefined, 2));
  });
}

function readRules(kind: RuleKind, path: string): readonly unknown[] {
  let input: unknown;
  try {
    input = JSON.parse(readFileSync(path === '-' ? process.stdin.fd : path, 'utf8'));
  } catch (error) {
    throw new UserError(`the rules in ${path} cannot be read: ${messageOf(error)}`, undefined, 2);
  }
  const found = ruleLists[kind].safeParse(input);
  if (found.success) return found.data.rules ?? [];
  const { path: at, message } = found.error.issues[0]!;
  throw new UserError(
    `the rules in ${path} are not valid at ${at.join('.') || 'the beginning'}: ${message}`,
    'They have the form of the API: see docs/buckets.md.',
    2,
  );
}
