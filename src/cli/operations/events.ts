/** `zoneplane events`: past and new events. */
import { InvalidArgumentError } from 'commander';
import { sleep } from '../../base/clock.js';
import { UserError } from '../../base/errors.js';
import { readEvents, type SeenEvent } from '../../control/access/visible-events.js';
import type { Context } from '../../control/kernel/context.js';
import { isKindPattern } from '../../control/kernel/event.js';
import { newestEvent } from '../../store/log/events-query.js';
import { gather } from '../arguments.js';
import type { Command, CommandContext } from '../command.js';
import { DATA_SETTINGS, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';
import type { Terminal } from '../terminal.js';
import { watchInterruption } from './interruption.js';

interface Options {
  readonly follow?: boolean;
  readonly zone?: readonly string[];
  readonly kind?: readonly string[];
  readonly after?: number;
  readonly json?: boolean;
}

const LOOK_MS = 200;
/** Without `--after`, this many of the newest events are examined. */
const NEWEST = 1000;

export function addEventsCommand(program: Command, { terminal, environment }: CommandContext): void {
  const events = program
    .command('events')
    .description('print past events, and with --follow also new ones')
    .option('--follow', 'print new events until interrupted')
    .option('--zone <name>', 'only events of this zone; may be given several times', gather)
    .option(
      '--kind <kind>',
      'only events of this kind, such as record.edit or record.*; may be given several times',
      gather,
    )
    .option('--after <number>', 'begin after the event with this number', readNumber)
    .option('--json', 'print one JSON object a line')
    .example('zoneplane events --kind record.*', 'zoneplane events --follow --zone example.com --json');
  addSettingOptions(events, DATA_SETTINGS).action(async (options: Options) => {
    const unknown = options.kind?.find((kind) => !isKindPattern(kind));
    if (unknown !== undefined)
      throw new UserError(`'${unknown}' is not a kind of events`, 'Write a kind such as record.edit or record.*.');
    await withControl(events, environment, (context) => print(context, terminal, options));
  });
}

async function print(context: Context, terminal: Terminal, options: Options): Promise<void> {
  const { store } = context;
  const filter = {
    zones: (options.zone ?? []).map((name) => name.replace(/\.$/, '').toLowerCase()),
    kinds: options.kind ?? [],
  };
  const newest = newestEvent(store);
  let after = options.after ?? (options.follow ? newest : Math.max(0, newest - NEWEST));
  const interruption = watchInterruption(terminal);
  while (!interruption.signal.aborted) {
    const { events, position, more } = readEvents(context, { ...filter, after });
    after = position;
    for (const event of events) terminal.print(options.json ? JSON.stringify(event) : lineOf(event));
    if (more) continue;
    if (!options.follow) return;
    await sleep(LOOK_MS);
  }
}

function lineOf({ id, at, kind, zone, subject, actor }: SeenEvent): string {
  const where = zone?.name && zone.name !== subject.name ? ` in ${zone.name}` : '';
  return `${id}  ${at}  ${kind}  ${subject.name ?? ''}${where}${actor ? `  by ${actor.email}` : ''}`;
}

function readNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be the number of an event.');
  return Number(text);
}
