/** `GET /zones/{zone_id}/rulesets/try` (ours): what the rules of a zone would do with a request. */
import { z } from 'zod';
import { tryRulesOfZone } from '../../control/rulesets/try.js';
import type { Trial } from '../../rulesets/try.js';
import { failure } from '../errors.js';
import { textValue } from '../query.js';
import { queryOf } from '../request.js';
import type { AddRoutes } from '../routing/route.js';
import { zoneParams } from '../zones/schema.js';
import { type RuleTrialShape, ruleTrial } from './schema.js';

const querystring = z.object({
  url: z.string().optional().describe('The URL that a client asks for; needed'),
  method: z.string().optional().describe('Default `GET`'),
  header: z.string().optional().describe('`Name: value`; may be repeated'),
  client: z.string().optional().describe('Address of the client; default 192.0.2.1'),
  country: z.string().optional().describe('Country of the client, two letters; default: not known'),
  status: z.string().optional().describe('Status that the origin answers with; default 200'),
});

const listOf = (headers: readonly string[]): RuleTrialShape['request_headers'] =>
  headers.flatMap((name, i) => (i % 2 === 0 ? [{ name, value: headers[i + 1]! }] : []));

function trialView({ applied, redirect, isLoop, target, requestHeaders, responseHeaders }: Trial) {
  return {
    ...{ applied: applied.map((one) => ({ ...one })), redirect: redirect ?? null, loops: isLoop, target },
    ...{ request_headers: listOf(requestHeaders), response_headers: listOf(responseHeaders) },
  } satisfies RuleTrialShape;
}

export const ruleTrialRoutes: AddRoutes = (app) => {
  app.get(
    '/zones/:zone_id/rulesets/try',
    {
      // Compiling the rules of a zone takes up to 20 ms.
      area: 'zone',
      readsLong: true,
      tags: ['Rulesets'],
      summary: 'Try the rules of a zone',
      params: zoneParams,
      querystring,
      answer: ruleTrial,
    },
    async (ctx, request) => {
      const query = queryOf(request);
      const status = textValue(query, 'status') ?? '200';
      if (!/^[2-5]\d\d$/.test(status))
        throw failure('badParameter', { name: 'status', expected: 'a number from 200 to 599' });
      const tried = {
        ...{ url: textValue(query, 'url') ?? '', method: textValue(query, 'method') ?? 'GET', status: Number(status) },
        ...{ headers: query['header'] ?? [], client: textValue(query, 'client') ?? '192.0.2.1' },
        country: textValue(query, 'country'),
      };
      return trialView(await tryRulesOfZone(ctx, request.params.zone_id, tried));
    },
  );
};
