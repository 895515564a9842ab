-- A contestant may be answered for by several servers, and may go on with an answer that another one began.
alter table contestants add column urls text[] not null default '{}';
update contestants set urls = array[url] where url is not null;
alter table contestants drop column url;
alter table contestants add column prefill boolean not null default false;
