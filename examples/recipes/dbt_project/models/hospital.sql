select * from read_parquet('../../data/hospital.parquet')
