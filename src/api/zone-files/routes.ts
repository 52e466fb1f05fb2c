/** `/zones/import` (ours): a zone file becomes a new zone, with every problem of the file and its line. */
import { z } from 'zod';
import type { Issue } from '../../base/result.js';
import { type ImportResult, importZone } from '../../control/imports/zone.js';
import { switchValue, textValue } from '../query.js';
import { queryOf, whenGone } from '../request.js';
import type { AddRoutes } from '../routing/route.js';
import { type ZoneFileResult, zoneFileQuery, zoneFileResult } from './schema.js';

/** Largest file, in octets: it is held in memory. Larger ones are for the command line. */
const FILE_LIMIT_BYTES = 64 << 20;
const MOST_ISSUES = 1000;

export const zoneFileRoutes: AddRoutes = (app) => {
  app.post(
    '/zones/import',
    {
      area: 'any',
      addsZones: true,
      zoneState: 'write',
      rawBody: true,
      tags: ['Zones'],
      summary: 'Create a zone from a zone file, which is the body',
      consumes: ['text/plain'],
      querystring: zoneFileQuery,
      body: z.string().describe('RFC 1035 zone file, at most 64 MiB'),
      answer: zoneFileResult,
      bodyLimit: FILE_LIMIT_BYTES,
    },
    async (ctx, request, reply) => {
      const query = queryOf(request);
      const octets: unknown = request.body;
      const name = textValue(query, 'name');
      const accountId = textValue(query, 'account_id');
      const result = await importZone(ctx, {
        source: { text: Buffer.isBuffer(octets) ? octets : '' },
        ...(name !== undefined && { origin: name }),
        ...(accountId !== undefined && { accountId }),
        automaticSoa: switchValue(query, 'automatic_soa') ?? false,
        proxied: switchValue(query, 'proxied') ?? false,
        signatures: { kind: switchValue(query, 'strip_dnssec') ? 'strip' : 'refuse' },
        signal: whenGone(reply),
      });
      return view(result);
    },
  );
};

function view({ imported, zoneId, name, serial, records, duplicates, issues }: ImportResult): ZoneFileResult {
  return {
    imported,
    id: zoneId ?? null,
    name: name ?? null,
    serial: serial ?? null,
    records,
    duplicates,
    issues: issues.slice(0, MOST_ISSUES).map(issueView),
    issues_total: issues.length,
  };
}

function issueView({ severity, code, message, line, column, text }: Issue): ZoneFileResult['issues'][number] {
  return { severity, code, message, line: line ?? null, column: column ?? null, text: text ?? null };
}
