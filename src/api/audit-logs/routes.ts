/** `/accounts/{account_id}/audit_logs`, `/user/audit_logs`, `/accounts/{account_id}/logs/audit`: the audit log. */
import { z } from 'zod';
import { listAccountAudit, listUserAudit, sliceAccountAudit } from '../../control/access/audit.js';
import { accountParams } from '../accounts/schema.js';
import { streamText } from '../dns-records/transfer.js';
import { success, successPage } from '../envelope.js';
import { AUDIT_PAGES, pageOf, resultInfo } from '../paging.js';
import { choiceValue, type Query } from '../query.js';
import { queryOf } from '../request.js';
import { type Routes, routes } from '../routing/route.js';
import { failureEnvelope } from '../schema.js';
import { EXPORT_TYPES, exportAudit } from './export.js';
import { pageFilter, sliceFilter, sliceOf } from './filter.js';
import {
  auditEventAnswer,
  auditEventQuery,
  auditExportQuery,
  auditLog,
  auditLogQuery,
  EXPORT_FORMATS,
} from './schema.js';
import { auditEventView, auditLogView } from './view.js';

function directionOf(query: Query): 'asc' | 'desc' {
  return choiceValue(query, 'direction', ['asc', 'desc']) ?? 'desc';
}

export const auditLogRoutes = routes({ tags: ['Audit log'] }, (app) => {
  app.get(
    '/accounts/:account_id/audit_logs',
    {
      area: 'audit',
      readsLong: true,
      summary: 'List who did what in an account',
      params: accountParams,
      querystring: auditLogQuery,
      list: auditLog,
    },
    async (ctx, request) => {
      const query = queryOf(request);
      const page = pageOf(query, AUDIT_PAGES);
      const asked = { ...page, direction: directionOf(query), filter: pageFilter(query) };
      const { items, totalCount } = await listAccountAudit(ctx, request.params.account_id, asked);
      return successPage(items.map(auditLogView), resultInfo(page, items.length, totalCount));
    },
  );

  app.get(
    '/user/audit_logs',
    { area: 'user', readsLong: true, summary: 'List what you did', querystring: auditLogQuery, list: auditLog },
    async (ctx, request) => {
      const query = queryOf(request);
      const page = pageOf(query, AUDIT_PAGES);
      const asked = { ...page, direction: directionOf(query), filter: pageFilter(query) };
      const { items, totalCount } = await listUserAudit(ctx, asked);
      return successPage(items.map(auditLogView), resultInfo(page, items.length, totalCount));
    },
  );

  app.get(
    '/accounts/:account_id/logs/audit',
    {
      area: 'audit',
      readsLong: true,
      summary: 'List who did what in an account, from a cursor on',
      params: accountParams,
      querystring: auditEventQuery,
      response: auditEventAnswer,
    },
    async (ctx, request) => {
      const query = queryOf(request);
      const asked = { ...sliceOf(query), direction: directionOf(query), filter: sliceFilter(query) };
      const { items, next } = await sliceAccountAudit(ctx, request.params.account_id, asked);
      const cursors = next === undefined ? {} : { after: next };
      return { ...success(items.map(auditEventView)), result_info: { count: items.length, cursors } };
    },
  );
  addExport(app);
});

function addExport(app: Routes): void {
  app.get(
    '/accounts/:account_id/logs/audit/export',
    {
      area: 'audit',
      summary: 'Download who did what in an account',
      params: accountParams,
      querystring: auditExportQuery,
      response: { 200: z.string().describe('JSON lines, or CSV'), '4xx': failureEnvelope, '5xx': failureEnvelope },
    },
    async (ctx, request, reply) => {
      const query = queryOf(request);
      const format = choiceValue(query, 'format', EXPORT_FORMATS) ?? 'jsonl';
      const asked = { direction: directionOf(query), filter: sliceFilter(query) };
      const pieces = exportAudit(ctx, request.params.account_id, asked, format);
      const stream = await streamText(pieces, ctx);
      reply.header('content-disposition', `attachment; filename="audit-log.${format}"`);
      return reply.type(EXPORT_TYPES[format]).send(stream as never);
    },
  );
}
