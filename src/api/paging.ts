/** Pages of lists. Requested values are clamped, never refused (v4: §1.4, §1.5). */
import { type ResultInfo, type Success, successPage } from './envelope.js';
import { firstValue, type Query } from './query.js';

/** Page sizes of one list. */
export interface PageSizes {
  readonly usual: number;
  readonly most: number;
}

export interface Page {
  /** From 1. */
  readonly page: number;
  readonly perPage: number;
}

export const ZONE_PAGES: PageSizes = { usual: 20, most: 50 };
/**
 * The documented maximum varies by source from 100 to 5,000,000; this one limits the memory of an answer (v4: §18.11).
 */
export const RECORD_PAGES: PageSizes = { usual: 100, most: 50_000 };
/** Smaller, because each record needs its own look-up (v4: §5.7). */
export const SHADOW_PAGES: PageSizes = { usual: 100, most: 1000 };
export const HISTORY_PAGES: PageSizes = { usual: 20, most: 100 };
export const AUDIT_PAGES: PageSizes = { usual: 100, most: 1000 };
export const TOKEN_PAGES: PageSizes = { usual: 20, most: 100 };
export const HOSTNAME_PAGES: PageSizes = { usual: 20, most: 1000 };
export const ACCOUNT_PAGES: PageSizes = { usual: 20, most: 50 };
export const MEMBER_PAGES: PageSizes = { usual: 20, most: 50 };

export const BUCKET_PAGES: PageSizes = { usual: 20, most: 1000 };
export const OBJECT_PAGES: PageSizes = { usual: 1000, most: 1000 };

/** Far beyond any list, but its product with a page size is still an exact integer. */
const LAST_PAGE = 1_000_000_000;

/** The requested page. A size below 1 or not a number gives the usual size; one above the maximum gives the maximum. */
export function pageOf(query: Query, sizes: PageSizes): Page {
  const page = wholeNumber(firstValue(query, 'page'));
  const perPage = wholeNumber(firstValue(query, 'per_page'));
  return {
    page: page === undefined || page < 1 ? 1 : Math.min(page, LAST_PAGE),
    perPage: perPage === undefined || perPage < 1 ? sizes.usual : Math.min(perPage, sizes.most),
  };
}

/** `result_info` of a page with `count` of `total` items. An empty list has only page 1 (v4: §1.5). */
export function resultInfo({ page, perPage }: Page, count: number, total: number): ResultInfo {
  return {
    page: total === 0 ? 1 : page,
    per_page: perPage,
    count,
    total_count: total,
    total_pages: Math.ceil(total / perPage),
  };
}

/** The requested page of a complete list. */
export function pageFrom<Item, View>(
  query: Query,
  sizes: PageSizes,
  all: readonly Item[],
  view: (item: Item) => View,
): Success<View[]> {
  const page = pageOf(query, sizes);
  const views = all.slice((page.page - 1) * page.perPage, page.page * page.perPage).map(view);
  return successPage(views, resultInfo(page, views.length, all.length));
}

/** A list without pages, which says that it has one. Any further page is empty: some clients ask for pages until one is (v4: §0). */
export function onePage<View>(views: View[], query: Query = {}): Success<View[]> {
  const { page } = pageOf(query, ACCOUNT_PAGES);
  const asked = page === 1 ? views : [];
  return successPage(asked, resultInfo({ page, perPage: Math.max(1, views.length) }, asked.length, views.length));
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
}
