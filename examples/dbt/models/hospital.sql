select * from {{ source('published', 'hospital') }}
