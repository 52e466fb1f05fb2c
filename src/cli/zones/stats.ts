/** `zoneplane zone stats`: what a zone was asked, as the API reports it. */
import { requireZone } from '../../control/guard/access.js';
import { limitOption } from '../arguments.js';
import { type Command, type CommandContext, example } from '../command.js';
import { DATA_SETTINGS, requireZoneNamed, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';

interface Options {
  readonly by: string;
  readonly since?: string;
  readonly until?: string;
  readonly filter?: string;
  readonly limit?: number;
  readonly json?: boolean;
}

/** What is too rare to be kept by name, and what has no such value. */
const OTHERS = '(others)';

export function addZoneStats(zone: Command, { terminal, environment }: CommandContext): void {
  const stats = zone
    .command('stats')
    .description('count the queries for a zone in the last day, or in a part of the last month')
    .argument('<zone>', 'name of the zone, or its identifier where several accounts claim the name')
    .option(
      '--by <dimensions>',
      'queryName, queryType, responseCode, protocol, tcp, ipVersion, dayOfWeek, or sourceNetwork, which is counted by itself',
      'queryName,queryType',
    )
    .option('--since <time>', 'such as 2026-11-01T00:00:00Z; default: a day ago')
    .option('--until <time>', 'the same; default: now')
    .option(
      '--filter <filters>',
      'such as queryType==A or responseCode!=NOERROR; several are joined by ";" (and) or "," (or)',
    )
    .addOption(limitOption())
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${example(
        'zoneplane zone stats example.com',
        "zoneplane zone stats example.com --by responseCode --filter 'queryType==A'",
        'zoneplane zone stats example.com --by sourceNetwork --limit 10 --json',
      )}
A running server stores its counts every five minutes, and when it stops.`,
    );
  addSettingOptions(stats, DATA_SETTINGS).action(async (name: string, options: Options) => {
    const { by, since, until, filter, limit, json } = options;
    const report = await withControl(stats, environment, async (context) => {
      // Loaded only here, so that the other commands start at once.
      const [{ parseReportQuery }, { readReport }] = await Promise.all([
        import('../../api/dns-analytics/query.js'),
        import('../../api/dns-analytics/report.js'),
      ]);
      const { id } = await requireZoneNamed(context, name);
      const asked = Object.entries({ dimensions: by, since, until, filters: filter, limit: limit ?? MOST_ROWS });
      const query = asked.flatMap(([key, value]) => (value === undefined ? [] : [[key, [String(value)]] as const]));
      const { store, clock } = context;
      return readReport(
        store,
        requireZone(context, id).seq,
        [],
        parseReportQuery(Object.fromEntries(query), clock.nowMs()),
      );
    });
    if (json) return terminal.json(report);
    const { dimensions } = report.query;
    terminal.table(
      [...dimensions, 'queries'],
      report.data.map((row) => [...row.dimensions.map((value) => value || OTHERS), String(row.metrics[0])]),
      'no queries are stored for this time; a running server stores its counts every five minutes',
    );
    const total = report.totals['queryCount'] ?? 0;
    terminal.print(`${total} queries from ${report.query.since} to ${report.query.until}`);
  });
}

/** As many rows as a report has at most. */
const MOST_ROWS = 1000;
