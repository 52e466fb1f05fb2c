/** Headers of columns that sort a list; the order stands in the address. */
import type { ComponentChildren } from 'preact';
import { Link, usePlace, withQuery } from '../router.js';

export interface Sort<Order extends string> {
  readonly order: Order;
  readonly direction: 'asc' | 'desc';
}

/** The order that the address asks for; other words are taken as the usual one. */
export function sortOf<Order extends string>(
  query: URLSearchParams,
  orders: readonly Order[],
  usual: NoInfer<Order>,
): Sort<Order> {
  const order = orders.find((candidate) => candidate === query.get('order')) ?? usual;
  return { order, direction: query.get('direction') === 'desc' ? 'desc' : 'asc' };
}

interface SortHeaderProps<Order extends string> {
  readonly orders: readonly Order[];
  readonly order: Order;
  readonly usual: NoInfer<Order>;
  /** Whether the column has numbers. */
  readonly isNumber?: boolean;
  readonly children: ComponentChildren;
}

export function SortHeader<Order extends string>({
  orders,
  order,
  usual,
  isNumber = false,
  children,
}: SortHeaderProps<Order>) {
  const sort = sortOf(usePlace().query, orders, usual);
  const isOwn = sort.order === order;
  const next = isOwn && sort.direction === 'asc' ? 'desc' : undefined;
  return (
    <th
      scope="col"
      class={isNumber ? 'number' : ''}
      aria-sort={isOwn ? (sort.direction === 'asc' ? 'ascending' : 'descending') : 'none'}
    >
      <Link
        class="sort"
        href={withQuery({ order: order === usual ? undefined : order, direction: next, page: undefined })}
      >
        {children}
        <span class="sort-sign" aria-hidden="true">
          {isOwn ? (sort.direction === 'asc' ? '↑' : '↓') : '↕'}
        </span>
      </Link>
    </th>
  );
}
