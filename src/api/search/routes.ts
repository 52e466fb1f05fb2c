/** `/search`: records of all zones that the caller may read (ours). */
import { z } from 'zod';
import { MOST_FOUND, searchRecords } from '../../control/records/search.js';
import { recordView } from '../dns-records/view.js';
import { numberValue, textValue } from '../query.js';
import { queryOf } from '../request.js';
import type { AddRoutes } from '../routing/route.js';
import { found } from './schema.js';

const query = z.object({
  q: z.string().describe('Words that all occur in name, type, content, comment or a tag of a record'),
  limit: z.string().optional().describe(`Records at most: 50, up to ${MOST_FOUND}`),
  after: z.string().optional().describe('`next` of the answer before'),
});

const USUAL = 50;

export const searchRoutes: AddRoutes = (app) => {
  app.get(
    '/search',
    {
      area: 'any',
      readsLong: true,
      tags: ['DNS records'],
      summary: 'Search for records in all zones; tokens for some records of a zone find nothing there',
      querystring: query,
      answer: found,
    },
    async (ctx, request) => {
      const sent = queryOf(request);
      const after = numberValue(sent, 'after', 0, Number.MAX_SAFE_INTEGER);
      const { records, zones, next } = await searchRecords(ctx, {
        text: textValue(sent, 'q') ?? '',
        limit: numberValue(sent, 'limit', 1, MOST_FOUND) ?? USUAL,
        ...(after !== undefined && { after }),
      });
      const views = records.map((item) => ({ zone: item.zone, record: recordView(item.record) }));
      return { records: views, zones, next: next ?? null };
    },
  );
};
